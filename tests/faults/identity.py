"""What a result is named after, changed while it is measured: sources, packages, libraries; and seals taken away."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig

from .snippets import write
from .trial import CHECK_S, TIMING_S, Trial, fault

SLOW_S, BATCH_S = 0.5, 0.05
AGAIN = r"; its results do not count: run the same command again"


def met_at_work(trial: Trial) -> None:
    """Wait for a random moment of the run's check, or of the first of its timings."""
    trial.most_s = SLOW_S / 2
    trial.start()
    trial.one(*trial.random.choice([("worker check", CHECK_S), ("worker time", TIMING_S / 2)]))


@fault("an implementation is edited during a run", times=3, quick=True)
def implementation(trial: Trial) -> None:
    """its batches ten times as slow, from a random moment of a check or a timing on"""
    met_at_work(trial)
    file = "scripts/implementations/plain/steady.py"
    trial.change(file, f"pause_s = {BATCH_S}", f"pause_s = {SLOW_S}")


@fault("a module of the harness is edited during a run", times=2)
def harness(trial: Trial) -> None:
    """it says ten times what its clock does, from a random moment on"""
    met_at_work(trial)
    more = "\n\n_read = time.perf_counter\ntime.perf_counter = lambda: 10 * _read()\n"
    file = trial.path("scripts/measurement/timing.py")
    trial.keep(file)
    file.write_text(file.read_text() + more)


@fault(
    "the run's copy of the scripts is edited",
    rf"scripts/implementations/plain/steady\.py was changed since the run was planned{AGAIN}",
    times=2,
    ends=None,
)
def copy(trial: Trial) -> None:
    """an implementation in results/sources/, ten times as slow, at a random moment"""
    met_at_work(trial)
    for file in trial.path("results/sources").glob("*/scripts/implementations/plain/steady.py"):
        text = file.read_text()
        file.chmod(0o644)
        file.write_text(re.sub(r"pause_s = \S+", f"pause_s = {SLOW_S}", text) + "\n# edited\n")


@fault(
    "a file that the plan did not count",
    r"scripts/implementations/plain/hidden\.py was loaded, but the plan does not include it",
    ends=None,
)
def forgotten(trial: Trial) -> None:
    """an implementation that imports a module by a name it makes up as it runs"""
    hidden = trial.path("scripts/implementations/plain/hidden.py")
    hidden.write_text("")
    trial.undo.callback(hidden.unlink)
    write(trial, "__import__('implementations.plain.' + 'hidden')")


@fault(
    "a package is installed while cells are measured",
    r"environment plain was modified: abacus was missing and is 1\.0",
    times=2,
    ends=None,
)
def package(trial: Trial) -> None:
    """into the environment, at a random moment of a check"""
    folder = trial.root.with_name(f"{trial.root.name}-environment")
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(command, check=True)
    trial.end.callback(shutil.rmtree, folder)
    (site,) = folder.glob("lib/*/site-packages")
    # It has what runs these tests.
    (site / "others.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    named = trial.setting("interpreters") | {"plain": str(folder / "bin" / "python")}
    trial.configure("tiny.yaml", interpreters=named)
    trial.start()
    trial.one("worker check", CHECK_S)
    facts = site / "abacus-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: abacus\nVersion: 1.0\n")
    trial.undo.callback(shutil.rmtree, facts)


@fault(
    "a kernel's library is swapped while it is measured",
    r"kernel\.so was changed since the run was planned",
    lab="kernels",
    times=2,
    ends=None,
)
def library(trial: Trial) -> None:
    """another file under its name, at a random moment of a check"""
    trial.forget("checks")
    trial.start()
    trial.one("worker check", CHECK_S)
    file = trial.any_of("kernels/**/kernel.so")
    other = file.with_suffix(".other")
    other.write_bytes(file.read_bytes() + b"\0")
    os.replace(other, file)
    trial.harms(file)
    trial.harms(file.with_name("kernel.json"))
