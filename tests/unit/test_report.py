"""From hand-made records to the table and the pages: nothing is lost, nothing is made up."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from measurement.record import write_sealed
from plan import matrix
from plan.matrix import Measurement
from reporting import results, summary
from stats import estimates, samples
from tests.unit import hand_made
from tests.unit.test_sections import assert_whole_tables

PAGES = ["stacked-lm", "index", "findings", "analysis", "claims", "contradictions", "machine"]
MOST_WORDS = 1750

REASONS = {
    ("pytorch/cell", "training"): ("incorrect", "gradient:embedding is off by 0.001"),
    ("tensorflow/eager-fine-grained", "forward"): ("timeout", "not finished after 3600 s"),
    ("tensorflow/eager-cell", "forward"): ("failed", "TypeError: <script>alert(a | b)</script>"),
    ("tensorflow/graph-block", "training"): ("out-of-memory", "the system killed the process"),
    ("pytorch/cell-jit", "forward"): ("unsupported", "this version has no TorchScript"),
}


def spoil(cell: Measurement, process: int, record: dict) -> None:
    """Some records of every status; with several processes only the last one goes wrong."""
    if (cell.implementation, cell.phase) in REASONS:
        hand_made.bad(*REASONS[cell.implementation, cell.phase])(record)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project, analysed and rendered, with a row of every status and the stand-in corpus."""
    found = hand_made.project(tmp_path_factory.mktemp("project"), spoil, stand_in=True)
    with pytest.MonkeyPatch.context() as monkeypatch:
        hand_made.analyse(found, monkeypatch)
        hand_made.render(found, monkeypatch)
    yield found


@pytest.fixture(scope="module")
def table(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "results" / "cells.csv")


def rows(page: str) -> list[list[str]]:
    """The cells of every row of every table of a markdown page."""
    lines = [line for line in page.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def text(folder: Path, name: str) -> str:
    return (folder / "results" / "report" / name).read_text()


def test_one_row_a_cell(table: pd.DataFrame) -> None:
    keys = table[list(results.CELL)].itertuples(index=False, name=None)
    assert [Measurement(*key) for key in keys] == list(matrix.cells_of("stacked-lm"))


def test_numbers_of_an_ok_row(table: pd.DataFrame) -> None:
    cell = Measurement("stacked-lm", "pytorch/fine-grained", "pytorch", "training", "cpu")
    wall_s = hand_made.wall_s(cell, 1)
    row = table[(table.implementation == cell.implementation) & (table.phase == cell.phase)].iloc[0]
    assert row.status == "ok"
    assert row.wall_s == pytest.approx(wall_s)
    assert row.elapsed_s == pytest.approx(wall_s * hand_made.BATCHES)
    assert row.sequences_per_s == pytest.approx(128 / wall_s)
    assert (row.batches, row.processes) == (hand_made.BATCHES, 1)
    assert (row.framework_version, row.gradient_error) == ("9.8.7", 2e-7)
    assert row.peak_memory_bytes == 2**30


def test_intervals_can_be_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what cells.csv has: each machine's noise beside its rows, and the same intervals after it was read."""

    def noisy(factor: float) -> hand_made.Change:
        def change(cell: Measurement, process: int, record: dict) -> None:
            of_cell = factor * (1 + len(cell.implementation) % 5) / 100
            record["samples"] = [s * (1 + (process - 2) * of_cell) for s in record["samples"]]

        return change

    machines, config = ("one", "two"), hand_made.configuration("stacked-lm", 3)
    for factor, machine in enumerate(machines, 1):
        folder = tmp_path / machine
        folder.mkdir()
        hand_made.project(folder, noisy(factor), 3, machine=machine)
        hand_made.write_manifest(folder, "stacked-lm", config, machine)
    also = (tmp_path / "two" / "results",)
    own = hand_made.tabulate(tmp_path / "one", monkeypatch, 3, also_report=also, machine="one")
    table = pd.read_parquet(own / "cells.parquet")
    priors = table.dropna(subset=["noise_sd"]).groupby("machine")[["noise_freedom", "noise_sd"]]
    assert (priors.nunique() == 1).all(axis=None)
    assert priors.first()["noise_sd"]["two"] > 1.5 * priors.first()["noise_sd"]["one"]
    measured = table[table["status"] == "ok"]
    assert measured["noise_sd"].notna().all() and set(measured["machine"]) == {*machines}
    for row in measured.to_dict("records"):
        prior = samples.Prior(row["noise_freedom"], row["noise_sd"])
        times = samples.Times(row["process_medians_s"], prior)
        _, low, high = estimates.product([times], [1])
        assert (row["wall_low_s"], row["wall_high_s"]) == (low, high)


def test_published_numbers_stand_beside(table: pd.DataFrame) -> None:
    published = pd.read_csv("config/published/001-stacked-lm.csv")
    row = table.merge(published, on=["benchmark", "implementation", "phase", "device"])
    times = row["environment"].map(matrix.generation).value_counts()
    assert times["now"] == times["2019"] == len(published)
    assert row.published_wall_s.tolist() == row.wall_s_y.tolist()


def test_rows_that_are_not_ok_have_a_reason_and_no_number(table: pd.DataFrame) -> None:
    numbers = ["wall_s", "wall_low_s", "wall_high_s", "elapsed_s", "sequences_per_s", "batches"]
    bad = table[(table.status != "ok") & (table.device == "cpu")]
    found = {(r.implementation, r.phase): (r.status, r.reason) for r in bad.itertuples()}
    assert found == REASONS
    assert bad[numbers].isna().all(axis=None)
    gpu = table[table.device == "gpu"]
    assert set(gpu.status) == {"unsupported"}
    assert set(gpu.reason) == {"no GPU is used in this run"}
    assert gpu[numbers].isna().all(axis=None)


def test_what_has_no_number_is_counted_by_reason(folder: Path, table: pd.DataFrame) -> None:
    data = hand_made.part(folder, "stacked-lm", "missing")
    lost = table[(table["status"] != "ok") & (table["device"] == "cpu")]
    counts = {each["reason"]: each["count"] for each in data["reasons"]}
    assert counts == lost.groupby("reason").size().to_dict()
    assert data["devices"] == {"gpu": (table["device"] == "gpu").sum()}
    statuses = [each["status"] for each in data["reasons"]]
    assert statuses.index("failed") < statuses.index("unsupported")  # what went wrong comes first
    shown = [row[1] for row in rows(text(folder, "stacked-lm.md")) if len(row) == 6]
    assert {each for each in shown if "*" in each} == {"*timeout*", "*failed*", "*incorrect*"}
    reason = REASONS["tensorflow/eager-cell", "forward"][1]  # is text
    assert reason in text(folder, "stacked-lm.md").replace("\\|", "|")


@pytest.mark.parametrize("name", ["stacked-lm", "index"])
def test_notices_stand_at_the_top(folder: Path, name: str) -> None:
    for suffix in ("md", "html"):
        page = text(folder, f"{name}.{suffix}")
        # Below the links to other pages.
        body = page[page.index("<h1" if suffix == "html" else ".md)\n") :]
        assert 0 < body.index("Preliminary: one process") < 250
        assert 0 < body.index("Measured on a stand-in corpus") < 600


def test_every_claim_has_a_verdict(folder: Path) -> None:
    """On the page of all claims; on its document's, but for those that need a GPU."""
    known = {"holds", "does not hold", "undecided", "not measured", "needs a GPU"}
    claims = {each["statement"] for each in matrix.claims() if each["document"] == "stacked-lm"}
    everywhere = {row[0]: row[-1] for row in rows(text(folder, "claims.md")) if row[0] in claims}
    assert everywhere.keys() == claims and set(everywhere.values()) <= known
    page = {row[0]: row[-1] for row in rows(text(folder, "stacked-lm.md")) if row[0] in claims}
    assert page.keys() == {each for each in claims if everywhere[each] != "needs a GPU"}
    for statement, here in page.items():
        assert here.replace("**", "").partition(":")[0] == everywhere[statement]


def test_html_is_one_file(folder: Path) -> None:
    page = text(folder, "stacked-lm.html")
    assert "<img" not in page and "<details" not in page[page.index("<main") :]
    names = re.findall(r' id="([^"]+)"', page)
    assert len(names) == len(set(names))
    outside = re.findall(r'(?:src|href)="(?!#|[a-z-]+\.html)([^"]+)"', page)
    assert not [link for link in outside if not link.startswith("https://")]
    assert "&lt;script&gt;" in page and "<script>alert" not in page
    assert '<th style="text-align:right" scope="col"><button type="button">' in page


def test_every_link_leads_somewhere(folder: Path) -> None:
    pages = {path.name: path.read_text() for path in (folder / "results/report").glob("*.html")}
    for name, page in pages.items():
        for link in re.findall(r'href="([^"]+)"', page):
            target, _, anchor = link.partition("#")
            if link.startswith(("https://", "data:")):
                continue
            assert target in pages or not target, (name, link)
            view = "=" in anchor  # of the explorer
            assert not anchor or view or f'id="{anchor}"' in pages[target or name], (name, link)


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_short_and_below_each_heading_something_stands(folder: Path, name: str) -> None:
    page = text(folder, f"{name}.md")
    assert len(page.split()) < MOST_WORDS and "<details" not in page
    sections_of = re.split(r"^## ", page, flags=re.M)[1:]
    for section in sections_of:
        heading, _, body = section.partition("\n")
        assert re.sub(r"^### .*", "", body, flags=re.M).strip(), heading
    assert_whole_tables(page)


def test_every_page_lists_all_pages(folder: Path) -> None:
    for path in (folder / "results/report").glob("*.html"):
        page = path.read_text()
        nav = page[page.index("<nav") : page.index("</nav>")]
        names = [path.stem for path in (folder / "results/report").glob("*.html")]
        assert {link[:-5] for link in re.findall(r'href="([^"#]+)"', nav)} == set(names), path
        assert re.findall(r'href="([^"]+)" aria-current="page"', nav) == [path.name]


def test_tables_in_files_are_one(folder: Path, table: pd.DataFrame) -> None:
    parquet = hand_made.table(folder)
    assert list(parquet.columns) == list(table.columns)
    assert parquet["wall_s"].tolist() == pytest.approx(table["wall_s"].tolist(), nan_ok=True)
    assert parquet["reason"].tolist() == table["reason"].fillna("").tolist()


def test_all_processes_or_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another text than PTB, three processes; of the first row, the last process is lost."""

    def lose_one(cell: Measurement, process: int, record: dict) -> None:
        record["corpus"]["title"] = "the Book of Kells"
        if cell.implementation == "tensorflow/eager-fine-grained" and process == 3:
            hand_made.bad("failed", "the process was ended by signal SIGKILL")(record)

    hand_made.project(tmp_path, lose_one, processes=3)
    hand_made.analyse(tmp_path, monkeypatch, processes=3)
    table = hand_made.table(tmp_path)
    table = table.set_index(["benchmark", "implementation", "environment", "phase", "device"])
    place = ("tensorflow", "forward", "cpu")
    lost = table.loc[("stacked-lm", "tensorflow/eager-fine-grained", *place)]
    assert (lost.status, lost.processes) == ("failed", 2)
    assert pd.isna(lost.wall_s)
    kept = table.loc[("stacked-lm", "tensorflow/graph-unrolled", *place)]
    assert (kept.status, kept.processes, kept.interval) == ("ok", 3, "confidence")
    assert kept.wall_low_s < kept.wall_s < kept.wall_high_s

    hand_made.render(tmp_path, monkeypatch)
    for name in ("stacked-lm.md", "index.md"):
        assert "stand-in" not in text(tmp_path, name) and "Preliminary" not in text(tmp_path, name)
    for name in ("stacked-lm.md", "index.md", "machine.md"):
        assert "Book of Kells" in text(tmp_path, name)
        assert "Penn Treebank" not in text(tmp_path, name)


def table_of(document, folder, monkeypatch, change, processes, benchmarks) -> pd.DataFrame:
    """A document's table, of records of its own; tests/workflow/test_pages.py has its page."""
    hand_made.project(folder, change, processes, document=document, benchmarks=benchmarks)
    hand_made.analyse(folder, monkeypatch, processes, document, benchmarks=benchmarks)
    table = hand_made.table(folder, document)
    return table.set_index(["benchmark", "implementation", "environment", "device"])


KERNEL = {
    "seconds": {"schedule": 0.5, "compile": 1.0, "link": 0.25},
    "tuning": {"tuning_seconds": 90.0, "start_seconds": 3.0, "trials": 200},
}


def test_kernels_in_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def change(cell: Measurement, process: int, record: dict) -> None:
        record["corpus"] = None
        if cell.implementation == "tvm/template-tuned":
            record["kernel"] = KERNEL
            record["samples"] = [0.5, 0.5, 0.5, 0.5, 1.5]
        if cell.implementation == "tvm/unrolled" and cell.benchmark != "cell-512":
            hand_made.bad("timeout", "not built within 600 s")(record)

    shape, shown = "layer-128x128x128", ["cell-*", "layer-*", "stack-64x100x64-d2*"]
    table = table_of("tvm-lstm", tmp_path, monkeypatch, change, 1, shown)
    own = table.loc[shape, "tvm/template-tuned", "tvm", "cpu"]
    assert (own.wall_s, own.wall_median_s, own.wall_max_s) == (0.7, 0.5, 1.5)
    assert (own.kernel_schedule_s, own.kernel_build_s, own.tuning_s) == (0.5, 1.25, 90)
    libraries = [
        ("pytorch/fused", "pytorch"),
        ("onnxruntime/lstm", "onnx"),
        ("openvino/lstm", "onnx"),
    ]
    times = [table.loc[shape, *row, "cpu"].wall_median_s for row in libraries]
    assert own.ratio_to_torch == pytest.approx(0.5 / times[0])
    assert own.ratio_to_fastest == pytest.approx(0.5 / min(times))
    hand_made.render_documents(tmp_path, monkeypatch)
    page = text(tmp_path, "tvm-lstm.md")
    (own_row,) = [row for row in rows(page) if row[:3] == ["128", "128", "128"]]
    assert own_row[4:] == ["500 (5.406)", "0.500 (775.652)", "90.0 (311.214)", "1.25 (650.439)"]
    (empty,) = [row for row in rows(page) if row[:3] == ["128", "512", "128"]]
    assert "(" not in empty[4]  # the document has no number there
    assert [row[0] for row in rows(page) if row[0].startswith("128(")] == ["128(2)"]
    (stack,) = [row for row in rows(page) if row[0] == "64, 64, 100, 20"]
    assert stack[1:] == ["700", "500", "1,500", "500", "400", "54.7555"]
    assert "not built within 600 s" in page and "stand-in" not in page


def test_words_per_second_in_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def change(cell: Measurement, process: int, record: dict) -> None:
        record["interference"]["own_cpu_s"] = 1.5  # of one second on two threads
        record["check"]["errors"]["clip"] = 7e-4
        if cell.implementation == "tensorflow/graph-cell":
            record["samples"] = [seconds / 2 for seconds in record["samples"]]

    document = "cudnn-lstm-ptb"
    table = table_of(document, tmp_path, monkeypatch, change, 3, ["ptb-small", "ptb-large"])
    cell = Measurement("ptb-large", "tensorflow/graph-cell", "tensorflow-2018", "training", "cpu")
    wall_s = hand_made.wall_s(cell, 2, document) / 2
    own = table.loc[cell.benchmark, cell.implementation, cell.environment, "cpu"]
    assert own.words_per_s == pytest.approx(20 * 35 / wall_s)
    assert (own.utilisation, own.clip_error) == (0.75, 7e-4)
    assert own.speedup == pytest.approx(2, rel=0.1)
    trained = hand_made.part(tmp_path, document, "training_runs")
    assert {each["batches"] for each in trained["runs"]} == {2323}
    assert trained["agreement"]["verdict"] == trained["reached"]["verdict"] == "holds"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"samples": [0.1, "x"]}, "is not a valid record: samples.1: 'x' is not"),
        ({"schema_version": 0}, "has record schema 0, this workflow reads 2"),
    ],
)
def test_what_is_no_record_makes_no_table(tmp_path: Path, monkeypatch, change, said) -> None:
    """tests/unit/test_record.py has damaged ones."""
    hand_made.project(tmp_path)
    cell = Measurement("stacked-lm", "pytorch/cell", "pytorch", "forward", "cpu")
    path = tmp_path / "results" / hand_made.place(cell, 1)
    write_sealed(str(path), json.loads(path.read_text()) | change)
    with pytest.raises(SystemExit) as stop:
        hand_made.tabulate(tmp_path, monkeypatch)
    line = str(stop.value)
    assert line.startswith(str(path)) and said in line and "\n" not in line
    assert not (tmp_path / "results/documents/stacked-lm/cells.parquet").exists()


def test_what_was_measured_on_a_stand_in_is_said() -> None:
    def on(text: bool | None) -> list[dict]:
        return [{"corpus": {} if text is None else {"stand_in": text}}]

    assert summary.on_stand_in({"x": on(False), "y": on(None)}) == ""
    assert summary.on_stand_in({"x": on(True), "y": on(None)}) == "all"
    assert summary.on_stand_in({"x": on(True), "y": on(True), "z": on(False)}) == "`x` and `y`"
