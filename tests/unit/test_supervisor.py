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

from measurement import compiler_caches, supervisor
from measurement.record import read_sealed_lines, write_sealed
from plan import configuration
from tests import tiny
from tests.conftest import ROOT, alive

KEPT = ("TMPDIR", *compiler_caches.FOLDERS)
RIGHT = "from implementations.plain.loop import build as right\n"
STYLES = {
    "right": "from implementations.plain.loop import build",
    "killed": "import os, signal\ndef build(*a): os.kill(os.getpid(), signal.SIGKILL)",
    "left": "import os\ndef build(*a): os._exit(3)",
    "slow": "import os, time\nopen('worker.pid', 'w').write(str(os.getpid()))\ntime.sleep(600)",
    "raising": "def build(*a): raise ValueError('no such thing\\nsecond line')",
    "greedy": "def build(*a): raise MemoryError()",
    "exhausted": "class ResourceExhaustedError(Exception): pass\n"
    "def build(*a): raise ResourceExhaustedError('OOM when allocating')",
    "chained": "def build(*a):\n"
    "    try: raise RuntimeError('CUDA out of memory. Tried to allocate 2 GiB')\n"
    "    finally: raise RuntimeError('operation failed due to a previous error during capture')",
    "unsupported": "from measurement.contract import Unsupported\n"
    "def build(*a): raise Unsupported('this needs a GPU')",
    "wrong": "from implementations.plain.wrong_gradient import build",
    "broken": "import no_such_module",
    "caching": "from implementations.plain.caching import build",
    "pausing": f"{RIGHT}import time\ndef build(*a): time.sleep(2); return right(*a)",
    "seen": "import os\ndef build(*a): raise ValueError(os.environ['CUDA_VISIBLE_DEVICES'])",
    "elsewhere": f"{RIGHT}def build(w, weights, _, phase): return right(w, weights, 'cpu', phase)",
    "counted": f"{RIGHT}import os\n"
    "def build(*a): open('pids', 'a').write('%d\\n' % os.getpid()); return right(*a)",
}
STYLES["hanging"] = """import os, time
from implementations.plain.model import Model
class Hanging(Model):  # once, in its eleventh batch
    batches = 0
    def step(self, *batch):
        self.batches += 1
        if self.batches > 10 and not os.path.exists('hung'):
            open('hung', 'w').close()
            time.sleep(600)
        return super().step(*batch)
def build(*a): return Hanging(*a)"""
STYLES["dying"] = f"""{RIGHT}import os, signal
def build(*a):
    runner = right(*a)
    step, looks = runner.step, 'looks/dying-training.jsonl'
    def dying(*batch):  # after two looks where there is a file `kill`
        if os.path.exists('kill') and len(open(looks).readlines()) == 2:
            os.remove('kill'); os.kill(os.getpid(), signal.SIGKILL)
        return step(*batch)
    runner.step = dying
    return runner"""
STYLES["compiling"] = f"""{RIGHT}import os
def build(*a):
    file = os.path.join(os.environ['TORCHINDUCTOR_CACHE_DIR'], 'code')
    open('compiled-here', 'a').write('%d\\n' % os.path.exists(file))
    os.makedirs(os.path.dirname(file), exist_ok=True)
    open(file, 'w').write('it')
    if os.path.exists('broken'): os._exit(1)
    return right(*a)"""
STYLES["keeping"] = f"""import os, tempfile
kept = [os.environ[name] for name in {KEPT!r}]
for path in kept: os.makedirs(path, exist_ok=True)
tempfile.mkstemp()
def build(*a): raise ValueError(' '.join(kept))"""
STYLES["spoiling"] = f"""{RIGHT}spoilt = []
def build(workload, weights, device, phase):
    if phase == 'forward': spoilt.append('CUDA error: an illegal memory access')
    if spoilt: raise RuntimeError(spoilt[0])
    return right(workload, weights, 'cpu', phase)"""
STYLES["hungry"] = f"""{RIGHT}import fcntl, os
def build(*a):
    with open(os.environ['CLOCK_LOCK']) as lock:
        try: fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError: return right(*a)
    raise MemoryError()"""
STYLES["emptied"] = f"""{RIGHT}import os, sys
def build(workload, weights, device, phase):
    if phase == 'training' and not os.path.exists('emptied'):
        open('emptied', 'w').close()
        os.unlink(os.path.join(sys.argv[2], 'result-0.json'))
    return right(workload, weights, device, phase)"""


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
        (scripts / f"implementations/fake/{name}.py").write_text(f"{text}\n")
    tiny.write_corpus(found)
    description = json.loads((found / "corpus.json").read_text())
    description |= {"source": "a test", "stand_in": False, "tokens": {"train": 200}}
    write_sealed(str(found / "corpus.json"), description)
    environment = {"environment": "lab", "fingerprint": "0" * 8, "builder": "venv", "pins": {}}
    found_there = {"python": "3.11.7", "packages": {}, "status": "ok", "reason": ""}
    write_sealed(str(found / "lab.json"), environment | found_there)
    return found


def job(
    style: str,
    kind: str = "check",
    timeout_s: float = 300,
    device: str = "cpu",
    phase: str = "training",
    **reads: str,
) -> dict:
    """What the supervisor is told. A timing and a training run read the style's check."""
    told = {
        "kind": kind,
        "identity": {
            **{"benchmark": "tiny", "implementation": f"fake/{style}", "environment": "lab"},
            **{"phase": phase, "device": device},
        },
        "parts": {"sources": "0" * 8},
        "benchmark": tiny.BENCHMARK,
        **{"threads": 1, "timeout_s": timeout_s, "seed": 0, "workers": 1, "failed_attempts": 0},
        "check": {"tolerance": 1e-4, "steps": 2, "batch": 3},
        "protocol": {
            **{"warmup_batches": 1, "rounds": 4, "most_rounds": 4, "least_rounds": 1},
            **{"look_s": 1e-9, "most_s": None, "nvtx": False},
        },
        "failures": f"failures/{style}.jsonl",
        "reads": {"environment": "lab.json", "corpus": "corpus.json"} | reads,
    }
    if kind == "time":
        told |= {"turns": "turns", "looks": f"looks/{style}-{phase}.jsonl", "target_interval": None}
    del told["protocol" if kind == "check" else "check"]
    if kind != "check":
        told["reads"]["check"] = f"check-{style}.json"
    return told


def command(job: dict, output: str) -> list[str]:
    options = {"--job": json.dumps(job), "--log": "log.txt", "--output": output}
    flat = [part for option in options.items() for part in option]
    return [sys.executable, "scripts", "measure_cell", *flat]


def carry_out(job: dict, output: str) -> tuple[dict, str]:
    """(what was left, what was printed) of one job; it must have ended well itself."""
    done = subprocess.run(command(job, output), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return json.loads(Path(output).read_text()), done.stderr


def run(style: str, **how: object) -> tuple[dict, str]:
    """(record, what was printed) of one job; it must have ended well itself and left a valid record."""
    told = job(style, **how)  # type: ignore
    record, printed = carry_out(told, f"{told['kind']}-{style}.json")
    jsonschema.validate(record, configuration.schema("record"))
    return record, printed


@pytest.fixture(autouse=True)
def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration.schema("record")  # read at the root
    monkeypatch.chdir(folder)


def test_what_was_killed_goes_on_and_measures_nothing_twice(folder: Path) -> None:
    run("dying")
    told = job("dying", kind="time")
    path = folder / told["looks"]
    path.parent.mkdir(exist_ok=True)
    path.touch()
    (folder / "kill").touch()
    record, _ = carry_out(told, "time-dying.json")
    assert record["status"] == "failed" and "SIGKILL" in record["reason"]
    with path.open("a") as stream:
        stream.write('{"seal": "0", "text": "{}"}\n{"seal": "cut sho')
    before = read_sealed_lines(str(path))
    assert len(before) == 2
    record, _ = carry_out(told, "time-dying.json")
    assert record["status"] == "ok" and record["lives"] == 2
    assert record["looks"][: len(before)] == before and len(record["looks"]) == 4
    assert {look["life"] for look in record["looks"]} == {1, 2} and not path.exists()


def test_training_run_out_of_time_goes_on_with_more(folder: Path) -> None:
    run("hanging")
    told = job("hanging", kind="train")
    told["benchmark"] = tiny.BENCHMARK | tiny.CARRIED
    told["protocol"] = {"batches": 30, "points": [30], "checkpoint_batches": 1}
    told["checkpoint"] = "run.npz"
    records = []
    for attempt, timeout_s in enumerate((6, 300)):
        told |= {"timeout_s": timeout_s, "failed_attempts": attempt}
        records.append(carry_out(told, "train-hanging.json")[0])
    assert [record["status"] for record in records] == ["timeout", "ok"]
    (resumed,) = records[1]["resumed_at"]
    assert 0 < resumed < 30 and not (folder / "run.npz").exists()


def test_what_was_wrong_is_not_gone_on_from(folder: Path) -> None:
    check = job("caching")
    check["check"]["steps"] = 1
    carry_out(check, "check-caching.json")
    told = job("caching", kind="time")
    for _ in range(2):
        record, _ = carry_out(told, "time-caching.json")
        assert (record["status"], record["lives"]) == ("incorrect", 1)
        assert record["reason"].startswith("after the last timed batch, ")
        assert len(record["samples"]) == 4


def test_further_processes_find_what_was_compiled_where_a_protocol_says_so(folder: Path) -> None:
    run("compiling")
    run("right")
    (folder / "compiled-here").unlink()

    def timed(process: int, shared=True, style: str = "compiling") -> tuple[str, bool | None]:
        """(status, whether it found something)"""
        told = job(style, kind="time")
        told["identity"]["process"] = process
        told |= {"compiled": "compiled/of-it"} if shared else {}
        record, _ = carry_out(told, f"compiling-{process}.json")
        jsonschema.validate(record, configuration.schema("record"))
        return record["status"], record.get("found_compiled")

    assert timed(2) == ("ok", False)  # whichever is the first
    assert timed(1) == timed(3) == ("ok", True)
    assert timed(2, shared=False) == ("ok", False)
    (folder / "broken").touch()
    assert timed(3) == ("failed", None)
    (folder / "broken").unlink()
    assert timed(3) == ("ok", False)  # nothing of what a process left that died
    assert (folder / "compiled-here").read_text().split() == ["0", "1", "1", "0", "1", "0"]
    shutil.rmtree(folder / "compiled")
    assert timed(1, style="right") == timed(2, style="right") == ("ok", False)  # nothing to find


WENT_WRONG = [
    ("right", "ok", ""),
    ("killed", "failed", "the process was ended by signal SIGKILL"),
    ("left", "failed", "the process ended with exit status 3 without a result"),
    ("raising", "failed", "ValueError: no such thing"),
    ("broken", "failed", "ModuleNotFoundError: No module named 'no_such_module'"),
    ("greedy", "out-of-memory", "MemoryError:"),
    ("exhausted", "out-of-memory", "ResourceExhaustedError: OOM when allocating"),
    ("chained", "out-of-memory", "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB"),
    ("wrong", "incorrect", "gradient:lstm.0.recurrent is off by 0.001 from the float64"),
    ("unsupported", "unsupported", "this needs a GPU"),
    ("right", "ok", ""),
]


class TestSeveralChecks:
    """One process that makes checks of one implementation, each with a record of its own."""

    @staticmethod
    def made(*checks: dict) -> tuple[dict[str, dict], str]:
        """{name of a check: its record} and what was printed."""
        for number, check in enumerate(checks):
            check |= {"path": f"several/{number}.json", "failures": f"several/{number}.jsonl"}
        shutil.rmtree("several", ignore_errors=True)
        left, printed = carry_out({"kind": "checking", "checks": list(checks)}, "checked.json")
        assert left["checks"] == [check["path"] for check in checks]
        records = [json.loads(Path(check["path"]).read_text()) for check in checks]
        for record in records:
            jsonschema.validate(record, configuration.schema("record"))
        return records, printed

    def test_each_leaves_its_record(self, folder: Path) -> None:
        checks = [job("counted", phase=phase) for phase in ("forward", "training")]
        records, printed = self.made(*checks)
        assert [record["identity"]["phase"] for record in records] == ["forward", "training"]
        assert [record["status"] for record in records] == ["ok", "ok"]
        assert records[0]["gradient_error"] is None and records[1]["gradient_error"] < 1e-4
        assert [record["parts"] for record in records] == [check["parts"] for check in checks]
        assert len(set((folder / "pids").read_text().split())) == 1
        assert printed.count(": ok\n") == 2
        assert not list(folder.glob("several/*.jsonl"))

    def test_one_that_fails_costs_no_other(self, folder: Path) -> None:
        """One that ends the process neither: the next one goes on in another. What is decided upstream is not run."""
        environment = json.loads(Path("lab.json").read_text())
        environment |= {"status": "failed", "reason": "pip: no such package"}
        write_sealed("broken.json", environment)
        upstream = job("right", environment="broken.json")
        expected = [("right", "failed", "pip: no such package"), *WENT_WRONG]
        records, printed = self.made(upstream, *(job(style) for style, *_ in WENT_WRONG))
        assert "Traceback" not in printed and "Traceback" in (folder / "log.txt").read_text()
        for number, (style, status, reason) in enumerate(expected):
            record, failures = records[number], Path(f"several/{number}.jsonl")
            assert record["status"] == status and record["reason"].startswith(reason)
            assert "\n" not in record["reason"]
            said = f"check fake/{style} training on cpu, tiny in lab: {status}"
            assert (f"{said}: {reason}" if reason else said) in printed
            assert failures.exists() == (status not in ("ok", "unsupported"))
            if failures.exists():
                assert json.loads(failures.read_text())["reason"] == record["reason"]

    def test_one_that_fails_on_a_gpu_spoils_no_other(self) -> None:
        """A wrong access there breaks everything that its process does from then on: the others go on in another."""
        phases = ("training", "forward", "training", "forward")
        records, _ = self.made(*(job("spoiling", device="gpu", phase=phase) for phase in phases))
        assert [record["status"] for record in records] == ["ok", "failed", "ok", "failed"]
        assert "illegal memory access" in records[1]["reason"]

    def test_one_that_lacks_memory_is_tried_alone(self, folder: Path, monkeypatch) -> None:
        """Once nothing else computes: two language models may need more than the machine has, and each fit."""
        monkeypatch.setenv("CLOCK_LOCK", str(folder / "own.lock"))
        checks = [job(style) for style in ("hungry", "greedy", "right")]
        records, printed = self.made(*checks)
        statuses = [record["status"] for record in records]
        assert statuses == ["ok", "out-of-memory", "ok"]
        assert printed.count("trying again alone on this machine") == 2
        assert not Path("several/0.jsonl").exists() and Path("several/1.jsonl").exists()

    def test_what_is_taken_away_is_no_other_ones(self) -> None:
        """Where a result is gone (somebody empties the temporary folder), those after it do not take its place."""
        records, _ = self.made(*(job("emptied", phase=phase) for phase in ("forward", "training")))
        assert [record["status"] for record in records] == ["failed", "ok"]
        assert "without a result" in records[0]["reason"]
        assert records[1]["gradient_error"] is not None

    def test_each_has_its_time(self) -> None:
        """What is out of time is ended, and those after it are made; time is counted from the last one's end."""
        slow = [job(style, timeout_s=4) for style in ("pausing", "pausing", "slow", "right")]
        records, _ = self.made(*slow)
        assert [record["status"] for record in records] == ["ok", "ok", "timeout", "ok"]
        assert records[2]["reason"] == "not finished after 4 s (protocol.timeout_s)"
        assert Path("several/2.jsonl").exists()
        assert not alive(int(Path("worker.pid").read_text()))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="macOS has no such signal")
def test_no_worker_outlives_its_supervisor(folder: Path) -> None:
    """Or it would disturb the next clock."""
    marker = folder / "worker.pid"
    marker.unlink(missing_ok=True)
    supervisor = subprocess.Popen(command(job("slow", timeout_s=600), "check-slow.json"))
    deadline = time.monotonic() + 300
    while not (marker.exists() and marker.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    worker = int(marker.read_text())
    assert alive(worker)
    supervisor.send_signal(signal.SIGKILL)
    supervisor.wait()
    while alive(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(worker)


def test_nothing_is_left_that_another_could_find_instead_of_compiling_it(folder: Path) -> None:
    places = [run("keeping")[0]["reason"].removeprefix("ValueError: ").split() for _ in range(2)]
    assert not set(places[0]) & set(places[1]) and len(places[0]) == len(KEPT)
    assert not any(map(os.path.exists, places[0]))


def test_a_cell_of_the_gpu_has_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And its record says in which state it was, as nvidia-smi does, which is a script here; ranges for a profiler are made
    where they are asked for."""
    script = folder / "bin" / "nvidia-smi"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho A GPU, 1980, 3201, 1980, 43, 212.40, [N/A], 97, 5321, 0x0\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    assert run("seen", device="gpu")[0]["reason"] == "ValueError: 2"
    assert run("seen", device="cpu")[0]["reason"] == "ValueError: -1"
    noted = folder / "ranges"
    (folder / "scripts" / "nvtx.py").write_text(
        f"def push_range(name): print(name, file=open({str(noted)!r}, 'a'))\n"
        "def pop_range(): push_range('end')\n"
    )
    run("elsewhere")
    order = job("elsewhere", kind="time", device="gpu")
    carry_out(order, "without-ranges.json")
    assert not noted.exists()
    order["protocol"]["nvtx"] = True
    record, _ = carry_out(order, "time-elsewhere.json")
    assert set(record["gpu"]) == {"before", "after", "batch"}
    assert record["gpu"]["after"]["utilisation_percent"] == 97
    assert record["gpu"]["after"]["power_limit_w"] is None
    assert noted.read_text().split() == [
        *("build", "end", "training", "warm-up", "end", "end"),
        *("training", "timed", "batch", "end", "end", "end") * 4,
        *("training", "end", "verify", "end"),
    ]


def test_threads_of_a_check_do_not_spin_beside_others_but_those_of_a_clock_may() -> None:
    checks = supervisor.worker_environment("check", 2, "cpu")
    assert checks["OMP_WAIT_POLICY"] == "passive" and checks["OMP_NUM_THREADS"] == "2"
    clocks = supervisor.worker_environment("time", 2, "cpu")
    assert clocks["OPENBLAS_NUM_THREADS"] == "2"
    for name in ("OMP_WAIT_POLICY", "KMP_BLOCKTIME"):
        assert clocks.get(name) == os.environ.get(name)


@pytest.mark.parametrize(
    ("printed", "status"),
    [
        ("what():  could not create a primitive descriptor for the inner product", "unsupported"),
        ("an assertion failed", "failed"),
    ],
)
def test_library_that_ends_its_process_for_want_of_a_kernel(printed: str, status: str) -> None:
    found, reason = supervisor._reason_of_death(-signal.SIGABRT, 0, printed)
    assert found == status and (printed in reason) == (status == "unsupported")
    assert supervisor._reason_of_death(-signal.SIGSEGV, 0, printed)[0] == "failed"
