"""Jobs: a result is named by what decides it, and by nothing else."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from measurement.record import RETRIED, STATUSES, append_line, sha256, write_sealed
from plan import jobs
from plan.jobs import BuildJob, CheckingJob, CheckJob, CorpusJob, Job

PARTS = {"benchmark": "aaaa", "sources": "bbbb"}


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def check(name: str = "lab/lm/style/forward-cpu", **parts: str) -> CheckJob:
    return CheckJob(name, PARTS | parts)


def leave(job: Job, *statuses: str) -> None:
    """The result of a job, after attempts of these statuses."""
    for status in statuses:
        append_line(job.failures, {"status": status})
    write_sealed(job.path, {"status": (statuses or ("ok",))[-1], "parts": job.parts})


class TestDigest:
    def test_every_part_the_name_and_the_kind_count(self) -> None:
        job = check()
        others = [check(benchmark="cccc"), check(sources="cccc"), check(machine="a-2c")]
        others += [CheckJob(job.name, {"benchmark": "aaaa"})]
        others += [CheckJob(job.name, {"benchmark": "bbbb", "sources": "aaaa"})]
        others += [check("lab/lm/style/training-cpu"), jobs.TimeJob(job.name, job.parts)]
        assert len({each.digest for each in (job, *others)}) == 8

    def test_it_is_the_same_in_every_process(self) -> None:
        """Else nothing would be found again. It names files that are on disk."""
        assert check().digest == "3c4c230336fd"


class TestDone:
    @pytest.mark.parametrize("status", STATUSES)
    def test_a_failure_is_tried_again(self, status: str) -> None:
        job = check()
        leave(job, status)
        assert job.done() == (status not in RETRIED)

    def test_success_after_failures(self) -> None:
        job = check()
        leave(job, "failed", "timeout")
        assert not job.done()
        assert (jobs.failed_attempts(job.failures), jobs.failed_last(job.failures)) == (2, True)
        leave(job, "ok")
        assert job.done()
        assert (jobs.failed_attempts(job.failures), jobs.failed_last(job.failures)) == (2, False)
        leave(job, "incorrect")
        assert not job.done()
        assert jobs.failed_attempts(job.failures) == 3


class TestNews:
    def test_beside_the_newest_result(self) -> None:
        for age, sources in ((200, "older"), (100, "newer")):
            job = check(sources=sources)
            leave(job)
            time = Path(job.path).stat().st_mtime - age
            os.utime(job.path, (time, time))
        assert jobs.news(check()) == "new: sources (newer -> bbbb)"

    def test_another_attempt(self) -> None:
        leave(check(sources="cccc"))
        leave(check(), "failed", "timeout")
        assert jobs.news(check()) == "attempt 3, as the last one failed"

    def test_of_several_checks(self) -> None:
        leave(check("a"))
        group = CheckingJob("g", {}, checks=(check("a", sources="cccc"), check("b")))
        assert jobs.news(group) == "new: sources (bbbb -> cccc) (2 checks)"

    @pytest.mark.parametrize("kind", [jobs.TuneJob, BuildJob, CorpusJob])
    def test_of_results_in_folders_of_their_own(self, kind: Callable[..., Job]) -> None:
        leave(kind("a/b", PARTS))
        assert jobs.news(kind("a/b", PARTS | {"sources": "cccc"})) == "new: sources (bbbb -> cccc)"


class TestDamage:
    def test_a_dry_run_leaves_it_there(self, capsys: pytest.CaptureFixture[str]) -> None:
        job = check()
        write_sealed(job.path, {"status": "ok"})
        Path(job.path).write_text("{")
        before = sorted(Path("results").rglob("*"))
        for _ in range(2):
            assert job.set_aside(dry=True) and not job.done()
        assert sorted(Path("results").rglob("*")) == before
        assert capsys.readouterr().err.count("a run sets it aside") == 1

    def test_none_takes_the_place_of_another(self) -> None:
        job, kept = check(), {}
        for number, name in enumerate(("damaged", "2.damaged", "3.damaged")):
            Path(job.path).parent.mkdir(parents=True, exist_ok=True)
            Path(job.path).write_text(str(number))
            assert job.set_aside()
            kept[f"{job.path}.{name}"] = str(number)
        assert {path: Path(path).read_text() for path in kept} == kept

    def test_a_folder_in_its_place_is_damage(self) -> None:
        job = check()
        Path(job.path, "below").mkdir(parents=True)
        assert not job.done() and job.set_aside()
        assert not Path(job.path).exists() and Path(f"{job.path}.damaged", "below").exists()

    def test_a_library_belongs_to_its_record(self) -> None:
        job = BuildJob("tvm/lm/template", PARTS)
        library = Path(job.library)
        library.parent.mkdir(parents=True)
        library.write_bytes(b"code")
        noted = {"kernel.so": sha256(job.library)}
        write_sealed(job.path, {"status": "ok", "sha256_beside": noted})
        assert job.done()
        library.write_bytes(b"other")
        assert not job.done()
        job.set_aside()
        assert not library.exists() and not Path(job.path).exists()
