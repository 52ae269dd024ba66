"""What must hold of a run that met a fault and of the next one, checked in one place for all faults."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.workflow.conftest import Project

from .trial import PATIENCE_S, SNAKEMAKE_ALONE, Fault, Missed, Trial

ATTEMPTS = 6  # to meet a run before it has ended
ENDING_S = 3  # a supervisor looks once a second whether it is still wanted


class Lab:
    """A project that a run without fault has measured, and what of it is taken away for a trial."""

    def __init__(
        self, project: Project, *missing: str, command: tuple[str, ...] = SNAKEMAKE_ALONE
    ) -> None:
        """missing: patterns of what a trial's run is to make, by the command."""
        project.snakemake()
        whole = Trial(project.root, targets=project.targets)
        self.project, self.missing, self.command = project, missing, command
        self.right, self.cells = whole.essences(), whole.ok_cells()

    def trial(self, root: Path, **more: object) -> Trial:
        """A copy whose results are there in part."""
        shutil.copytree(self.project.root, root)  # file times are kept
        targets, original = self.project.targets, self.project.root
        trial = Trial(root, targets=targets, command=self.command, whole_project=original, **more)
        trial.forget(*self.missing)
        return trial


@dataclass
class Verdict:
    """What became of one trial."""

    tried: int = 1
    wrong: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    recovered: bool = False
    message: str = ""
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def hold(self, trial: Trial, lab: Lab, when: str) -> None:
        """Nothing is wrong or lost."""
        for kind, noted, found in (
            ("wrong", self.wrong, trial.wrong(lab.right)),
            ("lost", self.lost, trial.lost()),
        ):
            noted += found
            self.problems += [f"{kind} after {when}: {each}" for each in found]


def attempt(fault: Fault, lab: Lab, folder: Path, seed: str) -> Verdict:
    """Try a fault once, in a folder that is kept where something does not hold; again where the run had ended before."""
    start = time.monotonic()
    for number in range(ATTEMPTS):
        random = Random(f"{seed} {fault.name} {folder.name}-{number}")
        trial = lab.trial(folder / str(number), random=random, number=int(folder.name))
        with trial.end:
            trial.end.callback(trial.end_all)
            try:
                with trial.undo:
                    fault.harm(trial)
                    trial.run_through()
                    verdict = Verdict()
                    verdict.hold(trial, lab, "the run that met it")
            except Missed:
                continue
            judge(fault, trial, lab, verdict)
        verdict.seconds = time.monotonic() - start
        if not verdict.problems:
            shutil.rmtree(folder)
        return verdict
    return Verdict(0, problems=["the run had always ended before it met its fault"])


def judge(fault: Fault, trial: Trial, lab: Lab, verdict: Verdict) -> None:
    """Hold a trial whose run met its fault, which is mended by now, against what must hold, with a next run."""
    met = trial.printed
    if fault.ends is not None and (trial.running.returncode == 0) != fault.ends:
        verdict.problems.append(f"the run ended with {trial.running.returncode}:\n{met}")
    if trial.processes():
        time.sleep(ENDING_S)
        if left := [each.cmdline() for each in trial.processes()]:
            verdict.problems.append(f"still running: {left}")
            trial.end_all()
    done = subprocess.run(
        ["bash", "-c", trial.shell()],
        cwd=trial.root,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
        timeout=PATIENCE_S,
    )
    said = met + done.stdout + done.stderr
    verdict.hold(trial, lab, "the next run")
    cells = trial.ok_cells() if done.returncode == 0 else None
    verdict.recovered = cells == lab.cells and trial.essences().keys() >= lab.right.keys()
    if not verdict.recovered:
        verdict.problems.append(f"the next run ended with {done.returncode}, {cells}:\n{said}")
    lines = [line for line in said.splitlines() if re.search(fault.says, line)]
    if lines:
        verdict.message = shortened(lines[0], trial.root)
    else:
        verdict.problems.append(f"nothing says {fault.says!r}:\n{said}")
    if "Traceback" in said:
        verdict.problems.append(f"a stack trace:\n{said}")


def shortened(line: str, root: Path) -> str:
    """A message without what differs from run to run."""
    line = re.sub(r"\.[0-9a-f]{12}\b", "", line.strip().replace(f"{root}/", ""))
    line = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1", line)
    line = re.sub(r"-[0-9a-f]{8}\b", "", line).replace(str(root), "the folder")
    return line if len(line) <= 200 else f"{line[:197]}..."


def row(fault: Fault, verdicts: Sequence[Verdict]) -> dict[str, object]:
    """The table's."""
    return {
        "group": fault.group,
        "fault": fault.name,
        "how": fault.how,
        "tried": sum(verdict.tried for verdict in verdicts),
        "wrong results": sum(len(verdict.wrong) for verdict in verdicts),
        "lost results": sum(len(verdict.lost) for verdict in verdicts),
        "recovered": sum(verdict.recovered for verdict in verdicts),
        "message": next((verdict.message for verdict in verdicts if verdict.message), ""),
        "seconds": round(sum(verdict.seconds for verdict in verdicts)),
    }
