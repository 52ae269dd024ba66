"""The supervisor outlives whatever a worker does, and says what it was."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from measurement.record import write_json
from plan import configuration
from tests import tiny
from tests.conftest import ROOT, alive

STYLES = {
    "right": "from implementations.plain.loop import build",
    "killed": "import os, signal\ndef build(*a): os.kill(os.getpid(), signal.SIGKILL)",
    "left": "import os\ndef build(*a): os._exit(3)",
    "slow": "import os, time\nopen('worker.pid', 'w').write(str(os.getpid()))\ntime.sleep(600)",
    "raising": "def build(*a): raise ValueError('no such thing\\nsecond line')",
    "greedy": "def build(*a): raise MemoryError()",
    "exhausted": "class ResourceExhaustedError(Exception): pass\n"
    "def build(*a): raise ResourceExhaustedError('OOM when allocating')",
    "unsupported": "from implementations.contract import Unsupported\n"
    "def build(*a): raise Unsupported('this needs a GPU')",
    "wrong": "from implementations.plain.wrong_gradient import build",
    "broken": "import no_such_module",
    "caching": "from implementations.plain.caching import build",
    "dawdling": "import time\nfrom implementations.plain.model import Model\n"
    "class Dawdling(Model):\n"
    "    def step(self, *batch): time.sleep(0.2); return super().step(*batch)\n"
    "def build(*a): return Dawdling(*a)",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the harness with the styles above, a corpus and an environment's record."""
    found = tmp_path_factory.mktemp("copy")
    scripts = found / "scripts"
    ignored = shutil.ignore_patterns("__pycache__", "pytorch", "tensorflow")
    shutil.copytree(ROOT / "scripts", scripts, ignore=ignored)
    shutil.copytree(ROOT / "tests" / "plain", scripts / "implementations" / "plain")
    (scripts / "implementations" / "fake").mkdir()
    for name, text in STYLES.items():
        (scripts / "implementations" / "fake" / f"{name}.py").write_text(text + "\n")
    tiny.write_corpus(found)
    description = json.loads((found / "corpus.json").read_text())
    description |= {"source": "a test", "stand_in": False, "tokens": {"train": 200}}
    write_json(str(found / "corpus.json"), description)
    environment = {"environment": "lab", "fingerprint": "0" * 8, "builder": "venv", "packages": {}}
    write_json(str(found / "lab.json"), environment | {"status": "ok", "reason": ""})
    return found


def command(
    style: str, kind: str = "check", timeout_s: float = 60, device: str = "cpu"
) -> list[str]:
    job = {
        "kind": kind,
        "identity": {
            **{"benchmark": "tiny", "implementation": f"fake/{style}", "environment": "lab"},
            **{"phase": "training", "device": device},
        },
        "benchmark": tiny.BENCHMARK,
        **{"threads": 1, "timeout_s": timeout_s, "seed": 0, "workers": 1},
        "check": {"tolerance": 1e-4, "steps": 2, "batch": 3},
        "protocol": {
            **{"warmup_batches": 1, "timed_batches": 4},
            **{"least_s": 0, "most_s": None, "least_batches": 1},
        },
    }
    del job["protocol" if kind == "check" else "check"]
    options = {"--job": json.dumps(job), "--environment": "lab.json", "--corpus": "corpus.json"}
    options |= {"--failures": f"failures/{style}.jsonl", "--log": "log.txt"}
    options |= {"--output": f"{kind}-{style}.json"}
    flat = [part for option in options.items() for part in option]
    return [sys.executable, "scripts/measure_cell.py", *flat]


def run(folder: Path, style: str, *more: str, **how: object) -> tuple[dict, str]:
    """(record, what was printed) of one job; it must have ended well itself and left a valid record."""
    arguments = [*command(style, **how), *more]  # type: ignore
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    record = json.loads(Path(arguments[arguments.index("--output") + 1]).read_text())
    jsonschema.validate(record, configuration.schema("record"))
    return record, done.stderr


@pytest.fixture(autouse=True)
def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration.schema("record")  # read at the root
    monkeypatch.chdir(folder)


@pytest.mark.parametrize(
    ("style", "status", "reason"),
    [
        ("killed", "failed", "the process was ended by signal SIGKILL"),
        ("left", "failed", "the process ended with exit status 3 before it left a result"),
        ("raising", "failed", "ValueError: no such thing"),
        ("broken", "failed", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("greedy", "out-of-memory", "MemoryError: "),
        ("exhausted", "out-of-memory", "ResourceExhaustedError: OOM when allocating"),
        ("wrong", "incorrect", "gradient:lstm.0.recurrent is off by 0.001 from the float64"),
    ],
)
def test_what_went_wrong_is_recorded_and_kept(
    folder: Path, style: str, status: str, reason: str
) -> None:
    failures = folder / "failures" / f"{style}.jsonl"
    for attempt in (1, 2):
        record, printed = run(folder, style)
        assert record["status"] == status
        assert record["reason"].startswith(reason.strip())
        assert "\n" not in record["reason"]
        assert f"check fake/{style} training on cpu: {status}: {reason}" in printed
        assert "Traceback" not in printed
        kept = [json.loads(line) for line in failures.read_text().splitlines()]
        assert len(kept) == attempt
        assert kept[-1]["reason"] == record["reason"]
        assert kept[-1]["started"] == record["started"]


def test_the_log_has_the_traceback(folder: Path) -> None:
    run(folder, "raising")
    assert "second line" in (folder / "log.txt").read_text()


def test_timeout(folder: Path) -> None:
    record, _ = run(folder, "slow", timeout_s=1)
    assert record["status"] == "timeout"
    assert record["reason"] == "not finished after 1 s (protocol.timeout_s)"
    assert (folder / "failures" / "slow.jsonl").exists()
    assert not alive(int((folder / "worker.pid").read_text()))


def test_training_run_out_of_time_goes_on_with_more(folder: Path) -> None:
    run(folder, "dawdling")
    arguments = command("dawdling", kind="train")
    job = json.loads(arguments[arguments.index("--job") + 1])
    job["benchmark"] |= tiny.CARRIED
    job["protocol"] = {"batches": 30, "points": [30], "checkpoint_batches": 1}
    records = []
    for attempt, timeout_s in enumerate((4, 60)):
        job |= {"timeout_s": timeout_s, "failed_attempts": attempt}
        more = ("--job", json.dumps(job), "--checkpoint", "run.npz")
        records.append(
            run(folder, "dawdling", "--check", "check-dawdling.json", *more, kind="train")[0]
        )
    assert [record["status"] for record in records] == ["timeout", "ok"]
    (resumed,) = records[1]["resumed_at"]
    assert 0 < resumed < 30 and not (folder / "run.npz").exists()


def test_unsupported_is_no_failure(folder: Path) -> None:
    record, _ = run(folder, "unsupported")
    assert (record["status"], record["reason"]) == ("unsupported", "this needs a GPU")
    assert not (folder / "failures" / "unsupported.jsonl").exists()


def test_right_check_then_samples(folder: Path) -> None:
    check, _ = run(folder, "right")
    assert (check["status"], check["reason"]) == ("ok", "")
    record, printed = run(folder, "right", "--check", "check-right.json", kind="time")
    assert record["status"] == "ok"
    assert (len(record["warmup"]), len(record["samples"])) == (1, 4)
    assert record["check"]["gradient_error"] == check["gradient_error"]
    assert len(record["faults"]) == 4
    assert record["verification"]["finished"]
    assert record["setup"]["first_step_s"] == record["warmup"][0]
    assert record["memory"]["process_peak_bytes"] > 10_000_000
    assert record["framework"]["framework"] == "NumPy"
    assert "time tiny fake/right training cpu in lab" in printed  # it can be seen to live
    assert not (folder / "failures" / "right.jsonl").exists()


def test_what_is_wrong_under_the_clock_only_is_incorrect(folder: Path) -> None:
    """A record of it has samples, and a status that no table takes them with."""
    steps = json.loads(command("caching")[command("caching").index("--job") + 1])
    steps["check"]["steps"] = 1
    assert run(folder, "caching", "--job", json.dumps(steps))[0]["status"] == "ok"
    record, _ = run(folder, "caching", "--check", "check-caching.json", kind="time")
    assert record["status"] == "incorrect"
    assert record["reason"].startswith("after the last timed batch, ")
    assert len(record["samples"]) == 4


def test_a_closed_gate_is_not_passed(folder: Path) -> None:
    check, _ = run(folder, "wrong")
    record, _ = run(folder, "wrong", "--check", "check-wrong.json", kind="time")
    assert (record["status"], record["reason"]) == ("incorrect", check["reason"])
    assert "samples" not in record


def test_an_environment_that_is_not_there(folder: Path) -> None:
    environment = json.loads((folder / "lab.json").read_text())
    environment |= {"status": "unsupported", "reason": "no Python ==3.5.* on this machine"}
    write_json("missing.json", environment)
    record, _ = run(folder, "right", "--environment", "missing.json")
    assert (record["status"], record["reason"]) == ("unsupported", environment["reason"])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="macOS has no such signal")
def test_no_worker_outlives_its_supervisor(folder: Path) -> None:
    """Or it would disturb the next clock."""
    marker = folder / "worker.pid"
    marker.unlink(missing_ok=True)
    supervisor = subprocess.Popen(command("slow", timeout_s=600), cwd=folder)
    deadline = time.monotonic() + 60
    while not (marker.exists() and marker.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    worker = int(marker.read_text())
    assert alive(worker)
    supervisor.send_signal(signal.SIGKILL)
    supervisor.wait()
    while alive(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(worker)


def test_threads_are_the_protocols(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Snakemake exports OMP_NUM_THREADS = threads of the rule; the worker must not see that."""
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    style = folder / "scripts" / "implementations" / "fake" / "threads.py"
    style.write_text("import os\ndef build(*a): raise ValueError(os.environ['OMP_NUM_THREADS'])\n")
    assert run(folder, "threads")[0]["reason"] == "ValueError: 1"
    assert os.environ["OMP_NUM_THREADS"] == "64"


def test_a_cell_of_the_gpu_has_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And its record says in which state it was. What answers here is no GPU but a script."""
    script = folder / "bin" / "nvidia-smi"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho A GPU, 1980, 3201, 1980, 43, 212.40, [N/A], 97, 5321, 0x0\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    style = folder / "scripts" / "implementations" / "fake" / "seen.py"
    style.write_text(
        "import os\ndef build(*a): raise ValueError(os.environ['CUDA_VISIBLE_DEVICES'])\n"
    )
    assert run(folder, "seen", device="gpu")[0]["reason"] == "ValueError: 2"
    assert run(folder, "seen", device="cpu")[0]["reason"] == "ValueError: -1"
    style.with_name("elsewhere.py").write_text(
        "from implementations.plain import loop\n"
        "def build(workload, weights, device, phase):\n"
        "    return loop.build(workload, weights, 'cpu', phase)\n"
    )
    run(folder, "elsewhere")
    gate = ("--check", "check-elsewhere.json")
    record, _ = run(folder, "elsewhere", *gate, kind="time", device="gpu")
    assert set(record["gpu"]) == {"before", "after"}
    assert record["gpu"]["after"]["utilisation_percent"] == 97
    assert record["gpu"]["after"]["power_limit_w"] is None
