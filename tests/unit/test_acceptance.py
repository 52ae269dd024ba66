"""Records of a real pack, changed with more care than tests/workflow/test_accept.py does; tests/unit/test_packs.py reads packs."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from commands import accept_pack
from reporting import acceptance, packs, results
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def parts() -> Iterator[list[results.Part]]:
    with packs.unpacked(ROOT / "report/machines/zen-4.tar.xz") as folder:
        yield [results.read(path) for path in results.manifests_in(folder)]


@pytest.fixture
def record(parts: list[results.Part]) -> dict:
    """The one with most batches that take long enough, of those that others took nothing from."""
    timed = [each for _, each in acceptance._timed(acceptance._records(parts))]
    alone = [
        each
        for each in timed
        if min(each["samples"]) > 2 * acceptance.LONG_S
        and acceptance._taken(meter := each["interference"]) < 0.01 * meter["wall_s"]
    ]
    return copy.deepcopy(max(alone, key=lambda each: len(each["samples"])))


@pytest.mark.parametrize(
    ("factor", "kept", "stolen", "wrong"),
    [
        (0.7, 1, 0, True),
        (0.7, 1, 0.4, False),  # by the hypervisor, between batches
        (1, 2 / 3, 0, True),  # the slow ones are left out
    ],
)
def test_batches_fill_the_clock(record, factor, kept, stolen, wrong) -> None:
    meter = record["interference"]
    meter["steal_s"] = (meter["steal_s"] or 0) + stolen * meter["wall_s"]
    samples = sorted(factor * each for each in record["samples"])
    record["samples"] = samples[: round(kept * len(samples))]
    assert any(acceptance._times({"": record})) == wrong


def test_a_machine_is_named_after_its_hardware(parts: list[results.Part]) -> None:
    part = copy.deepcopy(parts[0])
    part.manifest["machine"] = "x86_64-2c-abcdef"
    for row in (*part.cells, *part.training):
        for each in row.records:
            each["parts"]["machine"] = part.machine
    # Files are not named after that machine, and it is not this hardware.
    assert len({wrong for wrong, _ in acceptance._identities([part])}) == 2


def test_a_renewed_row_has_another_protocol_than_its_manifest(parts: list[results.Part]) -> None:
    """As `make example` leaves them; of what a manifest's own protocol asks for, no process may be missing."""
    part = copy.deepcopy(parts[0])
    row = next(row for row in part.cells if row.records and row.records[0]["status"] == "ok")
    record = row.records[0]
    record["looks"] = []
    part.manifest["protocol"] = {**record["protocol"], "processes": 3}
    both = tuple(record | {"identity": {"process": number}} for number in (1, 2))

    def few(count: int) -> bool:
        told = replace(row, records=both[:count], paths=row.paths[:1] * count)
        return any(acceptance._protocol([replace(part, cells=[told])]))

    assert few(2)
    part.manifest["protocol"]["warmup_batches"] = 99
    assert few(1) and not few(2)


def test_a_machine_is_published_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, accepted = tmp_path / "ours/records.zip", tmp_path / "accepted"
    monkeypatch.setattr(accept_pack, "OURS", ours)
    monkeypatch.setattr(accept_pack, "ACCEPTED", accepted)
    monkeypatch.setattr(accept_pack, "machines_of", lambda pack: ["a"])
    assert accept_pack.taken(tmp_path / "my b.zip", ["c"])  # lists of the Makefile have blanks
    for pack in (ours, accepted / "b.zip"):
        pack.parent.mkdir()
        pack.touch()
    assert len(accept_pack.taken(ours, ["a"])) == 2  # whatever its name
    assert len(accept_pack.taken(accepted / "b.zip", ["a"])) == 1  # itself is replaced
    assert not accept_pack.taken(ours, ["c"])
    assert accept_pack.taken(tmp_path / "b.zip", ["c"])  # else a's results would be lost
    assert len(accept_pack.taken(tmp_path / "b.zip", ["a", "c"])) == 1  # ours has a
