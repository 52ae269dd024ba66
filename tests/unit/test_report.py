"""From hand-made records to the table and the pages: nothing is lost, nothing is made up."""

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from measurement.record import read_json
from plan import matrix
from plan.matrix import Cell
from tests.unit import hand_made

REASONS = {
    ("pytorch/cell", "training"): ("incorrect", "gradient:embedding is off by 0.001"),
    ("pytorch/cudnn", "forward"): ("unsupported", "cuDNN runs on NVIDIA GPUs only"),
    ("pytorch/cudnn", "training"): ("unsupported", "cuDNN runs on NVIDIA GPUs only"),
    ("tensorflow/eager-fine-grained", "forward"): ("timeout", "not finished after 3600 s"),
    ("tensorflow/eager-cell", "forward"): ("failed", "TypeError: <script>alert(a | b)</script>"),
    ("tensorflow/graph-block", "training"): ("out-of-memory", "the system killed the process"),
}


def spoil(cell: Cell, process: int, record: dict) -> None:
    """Some records of every status; with several processes only the last one goes wrong."""
    if (cell.implementation, cell.phase) in REASONS:
        hand_made.bad(*REASONS[cell.implementation, cell.phase])(record)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project, collected and rendered, with a row of every status and the stand-in corpus."""
    found = hand_made.project(tmp_path_factory.mktemp("project"), spoil, stand_in=True)
    with pytest.MonkeyPatch.context() as monkeypatch:
        hand_made.collect(found, monkeypatch)
        hand_made.render(found, monkeypatch)
    yield found


@pytest.fixture(scope="module")
def table(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "results" / "cells.csv")


def rows(page: str) -> list[list[str]]:
    """The cells of every row of every table of a markdown page."""
    lines = [line for line in page.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_one_row_a_cell(table: pd.DataFrame) -> None:
    keys = ["benchmark", "implementation", "environment", "phase", "device"]
    found = [Cell(*key) for key in table[keys].itertuples(index=False, name=None)]
    assert found == list(matrix.cells_of("stacked-lm"))


def test_numbers_of_an_ok_row(table: pd.DataFrame) -> None:
    cell = Cell("stacked-lm", "pytorch/fine-grained", "pytorch", "training", "cpu")
    wall_s = hand_made.wall_s(cell, 1)
    row = table[(table.implementation == cell.implementation) & (table.phase == cell.phase)].iloc[0]
    assert row.status == "ok"
    assert row.wall_s == pytest.approx(wall_s)
    assert row.elapsed_s == pytest.approx(wall_s * hand_made.BATCHES)
    assert row.sequences_per_s == pytest.approx(128 / wall_s)
    assert (row.batches, row.processes) == (hand_made.BATCHES, 1)
    assert (row.framework_version, row.gradient_error) == ("9.8.7", 2e-7)
    assert row.peak_memory_bytes == 2**30


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
    assert set(gpu.reason) == {"no GPU takes part in this run"}
    assert gpu[numbers].isna().all(axis=None)


def test_pages_show_every_row_with_its_status(folder: Path, table: pd.DataFrame) -> None:
    page = (folder / "results" / "report" / "stacked-lm.md").read_text()
    measured = [row for row in rows(page) if "(forward-only)" in row[0] or "(entire-" in row[0]]
    document = matrix.document("stacked-lm")
    families = {entry["implementation"]: entry["family"] for entry in matrix.implementations()}
    expected = [
        row
        for shown in document["tables"]
        for row in table[table.benchmark == "stacked-lm"].itertuples()
        if matrix.shows(shown, families[row.implementation], row.device, row.benchmark)
    ]
    assert len(measured) == len(expected)
    for printed, row in zip(measured, expected, strict=True):
        if row.status == "ok":
            assert printed[1:3] == [f"{row.environment} 9.8.7", f"{row.wall_s:.4f}"]
        else:
            assert printed[1:3] == [row.environment, f"*{row.status}*"]
            assert not any(printed[3:-1])
        published = "–" if pd.isna(row.published_wall_s) else f"{row.published_wall_s:.4f}"
        assert printed[-1] == published


def test_departures_stand_beside_what_they_depart_from(folder: Path, table: pd.DataFrame) -> None:
    """In the page as in the table: over the same implementation's time under the protocol."""
    cells = table[(table.device == "cpu") & ~table.environment.str.endswith("-2019")]
    cells = cells.set_index(["benchmark", "implementation", "phase"])
    name = "stacked-lm-gradients-recorded"
    departed = cells.loc[name, "pytorch/fused", "forward"]
    ratio = departed.wall_s / cells.loc["stacked-lm", "pytorch/fused", "forward"].wall_s
    assert departed.ratio_to_baseline == pytest.approx(ratio)
    assert cells.loc["stacked-lm", "pytorch/fused", "forward"][["ratio_to_baseline"]].isna().all()
    page = (folder / "results" / "report" / "stacked-lm.md").read_text()
    printed = [row for row in rows(page) if row[0].startswith("forward records")]
    assert [f"{ratio:.3f}, {departed.wall_s:.4f} s" in row for row in printed] == [True, False]
    lost = [row for row in rows(page) if row[0] == "optimizer sgd instead of adam"]
    assert ["*out-of-memory*" in row for row in lost] == [True, False]


def test_then_stands_beside_now(folder: Path, table: pd.DataFrame) -> None:
    page = (folder / "results" / "report" / "stacked-lm.md").read_text()
    printed = [row for row in rows(page) if row[2].startswith("pytorch-2019")]
    cells = table[(table.device == "cpu") & (table.benchmark == "stacked-lm")]
    wall = cells.set_index(["implementation", "environment", "phase"])["wall_s"]
    then, now = (wall["pytorch/fused", name, "training"] for name in ("pytorch-2019", "pytorch"))
    row = ["fused", "PyTorch nn.LSTM (entire-training)", "pytorch-2019 9.8.7", f"{then:.4f}"]
    row += ["pytorch 9.8.7", f"{now:.4f}", f"{then / now:.3f} *inconclusive*"]  # one process
    assert row in printed
    lost = ["static-cell", "PyTorch (entire-training)", "pytorch-2019", "*incorrect*"]
    assert [*lost, "pytorch", "*incorrect*", "–"] in printed


@pytest.mark.parametrize("key", REASONS)
def test_reasons_are_printed(folder: Path, key: tuple[str, str]) -> None:
    for name in ("stacked-lm", "index"):
        page = (folder / "results" / "report" / f"{name}.md").read_text()
        assert REASONS[key][1] in page.replace("\\|", "|")


def test_a_pipe_in_a_reason_breaks_no_table(folder: Path) -> None:
    page = (folder / "results" / "report" / "index.md").read_text()
    found = [row for row in rows(page) if "`tensorflow/eager-cell`" in row]
    assert [len(row) for row in found] == [8, 8, 8]  # one an environment


@pytest.mark.parametrize("name", ["stacked-lm.md", "index.md", "stacked-lm.html", "index.html"])
def test_stand_in_is_announced_at_the_top(folder: Path, name: str) -> None:
    page = (folder / "results" / "report" / name).read_text()
    body = page[page.index("<body>") :] if name.endswith("html") else page
    assert 0 < body.index("Measured on a stand-in corpus") < 200


def test_the_first_section_is_the_verdict_on_every_claim(folder: Path) -> None:
    page = (folder / "results" / "report" / "index.md").read_text()
    sections = re.split(r"^## ", page, flags=re.M)
    verdicts = {"holds", "does not hold", "inconclusive", "not measured"}
    listed = [row for row in rows(sections[1]) if row[0].startswith("[")]
    assert len(listed) == len(matrix.claims())
    for row, claim in zip(listed, matrix.claims(), strict=True):
        assert row[0] == f"[{claim['statement']}](#{claim['name']})"
        assert {re.split("[†:]", cell.replace("**", ""))[0] for cell in row[2:]} <= verdicts
        assert f"### {claim['name']}\n" in sections[-1]
    assert "1.6109 (line 109) / 1.5050 (line 94) = 1.07: holds" in sections[-1]
    html = (folder / "results" / "report" / "index.html").read_text()
    assert 'href="#eager-cell-slower-on-gpu"' in html and 'id="eager-cell-slower-on-gpu"' in html


def test_figure_is_in_the_page(folder: Path) -> None:
    for name in ("trade_off", "wall_time"):
        figure = folder / "results" / "report" / "figures" / f"stacked-lm-{name}-cpu.svg"
        text = figure.read_text()
        assert "incorrect" in text and "PyTorch" in text
        assert figure.with_suffix(".png").stat().st_size > 10_000
    page = (folder / "results" / "report" / "stacked-lm.html").read_text()
    assert page.count('src="data:image/svg+xml;base64,') == 2
    assert "<table>" in page and "Abacus 9000" in page


def test_parquet_and_csv_are_one_table(folder: Path, table: pd.DataFrame) -> None:
    parquet = pd.read_parquet(folder / "results" / "cells.parquet")
    assert list(parquet.columns) == list(table.columns)
    assert parquet["wall_s"].tolist() == pytest.approx(table["wall_s"].tolist(), nan_ok=True)
    assert parquet["reason"].tolist() == table["reason"].fillna("").tolist()


def test_records_are_packed(folder: Path, table: pd.DataFrame) -> None:
    with zipfile.ZipFile(folder / "results" / "records.zip") as packed:
        names = packed.namelist()
        for name in names:
            assert json.loads(packed.read(name)) == read_json(str(folder / "results" / name))
    assert len(names) == len(table[table["device"] == "cpu"])


def test_searchable_table_has_every_row(folder: Path, table: pd.DataFrame) -> None:
    page = (folder / "results" / "report" / "cells.html").read_text()
    shown = [re.findall(r"<td.*?</td>", row) for row in page.split("<tr>")[2:]]
    assert len(shown) == len(table)
    assert all(len(row) == page.count("<th>") for row in shown)
    assert "&lt;script&gt;" in page and "<script>alert" not in page
    assert "records/pytorch/stacked-lm/pytorch/fused/forward-cpu-*.json" in page
    assert "forward-gpu-*.json" not in page  # nothing was recorded there


@pytest.mark.parametrize("name", ["stacked-lm", "index"])
def test_tables_are_whole(folder: Path, name: str) -> None:
    """Every row has as many cells as its heading: plain markdown anywhere shows it as a table."""
    assert_whole_tables((folder / "results" / "report" / f"{name}.md").read_text())


def assert_whole_tables(page: str) -> None:
    tables = [block for block in page.split("\n\n") if block.lstrip().startswith("|")]
    assert tables
    for block in tables:
        widths = {len(row) for row in rows(block)}
        assert len(widths) == 1, block
        assert re.fullmatch(r"\|( ?:?-+:? ?\|)+", block.strip().splitlines()[1])


def break_even(page: str, implementation: str, phase: str) -> list[str]:
    """The row of the environment of today."""
    found = {tuple(row[:2] + row[3:4]): row for row in rows(page) if len(row) == 9}
    environment = implementation.split("/")[0]
    return found[f"`{implementation}`", environment, f"{phase}, CPU"]


def test_break_even_is_in_the_page(folder: Path) -> None:
    page = (folder / "results" / "report" / "stacked-lm.md").read_text()
    own = break_even(page, "tensorflow/graph-unrolled", "training")
    assert own[2] == "`tensorflow/eager-fine-grained`"
    assert own[-1] == "*inconclusive*"  # one process does not tell which is faster
    assert "- *out-of-memory*, CPU: tensorflow/graph-block" in page


def test_all_processes_or_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real corpus, three processes; of the first row, the last process is lost."""

    def lose_one(cell: Cell, process: int, record: dict) -> None:
        if cell.implementation == "tensorflow/eager-fine-grained" and process == 3:
            hand_made.bad("failed", "the process was ended by signal SIGKILL")(record)

    hand_made.project(tmp_path, lose_one, processes=3)
    hand_made.collect(tmp_path, monkeypatch, processes=3)
    table = pd.read_csv("results/cells.csv")
    table = table.set_index(["implementation", "environment", "phase", "device"])
    lost = table.loc["tensorflow/eager-fine-grained", "tensorflow", "forward", "cpu"]
    assert (lost.status, lost.processes) == ("failed", 2)
    assert pd.isna(lost.wall_s)
    kept = table.loc["tensorflow/graph-unrolled", "tensorflow", "forward", "cpu"]
    assert (kept.status, kept.processes, kept.interval) == ("ok", 3, "confidence")
    assert kept.wall_low_s < kept.wall_s < kept.wall_high_s

    hand_made.render(tmp_path, monkeypatch)
    for name in ("stacked-lm.md", "index.md"):
        assert "stand-in" not in Path("results/report", name).read_text()
    page = Path("results/report/stacked-lm.md").read_text()
    headers = [row for row in rows(page) if row[2:3] == ["Wall time (s)"]]
    of_first_table = headers[0]
    assert "95 % interval (s)" in of_first_table  # although its first row has no number
    assert break_even(page, "pytorch/compiled", "training")[-1] == "*never*"
    departed = [row for row in rows(page) if row[0].startswith("results brought to the host")]
    assert re.search(r"^1\.\d+ \[1\.\d+, 1\.\d+\], ", departed[0][3])
    then = [row for row in rows(page) if row[2].startswith("pytorch-2019")]
    assert re.fullmatch(r"1\.\d+ \[1\.\d+, 1\.\d+\]", then[0][-1])


KERNEL = {
    "seconds": {"schedule": 0.5, "compile": 1.0, "link": 0.25},
    "tuning": {"tuning_seconds": 90.0, "start_seconds": 3.0, "trials": 200},
}


def test_page_of_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every shape of document 002 in its columns; ratios are those of the table."""

    def change(cell: Cell, process: int, record: dict) -> None:
        record["corpus"] = None
        if cell.implementation == "tvm/template-tuned":
            record["kernel"] = KERNEL
            record["samples"] = [0.5, 0.5, 0.5, 0.5, 1.5]
        if cell.implementation == "tvm/unrolled" and cell.benchmark != "cell-512":
            hand_made.bad("timeout", "not built after 600 s")(record)

    hand_made.project(tmp_path, change, document="tvm-lstm")
    shown = ["cell-*", "layer-*", "stack-64x100x64-d2*"]
    hand_made.collect(tmp_path, monkeypatch, document="tvm-lstm", benchmarks=shown)
    hand_made.render(tmp_path, monkeypatch)
    table = pd.read_csv("results/cells.csv").set_index(["benchmark", "implementation", "device"])
    own = table.loc["layer-128x128x128", "tvm/template-tuned", "cpu"]
    assert (own.wall_s, own.wall_median_s, own.wall_max_s) == (0.7, 0.5, 1.5)
    assert (own.kernel_schedule_s, own.kernel_build_s, own.tuning_s) == (0.5, 1.25, 90)
    torch = table.loc["layer-128x128x128", "pytorch/fused", "cpu"].wall_median_s
    assert own.ratio_to_torch == pytest.approx(0.5 / torch)
    libraries = ["pytorch/fused", "onnxruntime/lstm", "openvino/lstm"]
    fastest = min(table.loc["layer-128x128x128", name, "cpu"].wall_median_s for name in libraries)
    assert own.ratio_to_fastest == pytest.approx(0.5 / fastest)

    page = Path("results/report/tvm-lstm.md").read_text()
    shapes = [row for row in rows(page) if row[0].isdigit() and len(row) > 12]
    assert len(shapes) == 2 * len({cell.benchmark for cell in hand_made.cells("tvm-lstm")})
    (printed,) = [r for r in shapes if r[:4] == ["128", "128", "128", "1"] and "500.000" in r[4]]
    assert printed[4] == "500.000 (400.000)"
    assert (
        "*timeout*" in printed
        and "3.00" in printed
        and "0.50 + 90 + 1.25" in printed
        and "776 + 311 + 650" in printed
    )
    (stack,) = [
        row for row in rows(page) if row[0] == "[64, 64, 100, 20]" and row[1] != "*unsupported*"
    ]
    assert stack[1:6] == ["700.000", "500.000", "1500.000", "500.000", "400.000"]
    assert stack[6:] == ["54.755", "54.651", "59.767", "54.276", "0.753"]
    assert len([r for r in rows(page) if r[:2] == ["[64, 64, 100, 6]", "*not-run*"]]) == 1
    assert "--config documents='[tvm-lstm]'" in page
    overheads = {row[0]: row for row in rows(page) if row[0].endswith("(CPU)") and len(row) == 8}
    shapes = [r for r in table.xs("tvm/untuned", level=1).itertuples() if r.status == "ok"]
    assert overheads["TVM untuned (CPU)"][1] == str(len(shapes))
    assert overheads["TVM unrolled (CPU)"][1:3] == [
        "1",
        "too few shapes to tell overhead from rate",
    ]
    assert len([row for row in rows(page) if row[0] == "TVM template, tuned"]) == 3
    assert "not built after 600 s" in page and "stand-in" not in page


def test_page_of_rnn_benchmarks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chart and tables a benchmark; rows by the document's names; what is left out says so."""

    def change(cell: Cell, process: int, record: dict) -> None:
        record["corpus"] = None
        if cell.environment == "pytorch-2019":
            record["samples"] = [4 * seconds for seconds in record["samples"]]

    hand_made.project(tmp_path, change, processes=3, document="rnn-benchmarks")
    shown = {"document": "rnn-benchmarks", "benchmarks": ["1x320-*", "4x320-ce-long"]}
    hand_made.collect(tmp_path, monkeypatch, processes=3, **shown)
    hand_made.render(tmp_path, monkeypatch)
    page = Path("results/report/rnn-benchmarks.md").read_text()
    assert_whole_tables(page)
    found = {
        row[0]: row
        for row in rows(page)
        if row[0] in matrix.document("rnn-benchmarks")["benchmarks"]
    }
    assert found["1x320-ce-short"][-2:] == ["571,520", "433,000"]
    assert found["4x320-ctc-long"][3:] == [
        "500 to 1000",
        "59",
        "CTC",
        "100",
        "8,554,880",
        "8,500,000",
    ]
    cell = Cell("4x320-ce-long", "pytorch/fused", "pytorch", "training", "cpu")
    own = f"{hand_made.wall_s(cell, 2, 'rnn-benchmarks'):.4f} ± 0.0001"
    (row,) = [row for row in rows(page) if row[2:3] == [own]]
    assert row[:2] == ["PyTorch nn.LSTM without cuDNN", "pytorch 9.8.7"]
    assert row[4] == "3 x 5" and row[-2:] == ["1,024", "2.0e-07"]
    pairs = [row for row in rows(page) if len(row) == 7 and row[2] == "pytorch-2019 9.8.7"]
    assert pairs and all(row[-1].startswith(("4.0", "3.9")) for row in pairs)
    assert "--config documents='[rnn-benchmarks]'" in page
    sections = {part.splitlines()[0]: part for part in page.split("\n## ")}
    assert "| Then |" in sections["4x320-ce-long, CPU"]
    unmeasured = sections["4x320-ctc-long, CPU"]
    assert "*not-run*" in unmeasured and "| Then |" not in unmeasured
    for name in found:
        assert page.count(f"(figures/rnn-benchmarks-{name}-cpu.svg)") == 1
    drawn = Path("results/report/figures/rnn-benchmarks-4x320-ctc-long-cpu.svg").read_text()
    assert "not run under this configuration" in drawn


def test_page_of_words_per_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The document's table, the two frameworks and every configuration; published numbers stand beside."""

    def change(cell: Cell, process: int, record: dict) -> None:
        record["interference"]["own_cpu_s"] = 1.5  # of one second on two threads
        record["check"]["errors"]["clip"] = 7e-4
        if "dropout" in record["benchmark"]:
            record["check"]["dropout"] = [0.651, 0.652, 0.653]
        if cell.implementation == "tensorflow/graph-cell":
            record["samples"] = [seconds / 2 for seconds in record["samples"]]
        if cell.implementation.endswith("cudnn"):
            hand_made.bad("unsupported", "cuDNN runs on NVIDIA GPUs only")(record)

    document = "cudnn-lstm-ptb"
    hand_made.project(tmp_path, change, processes=3, document=document)
    shown = ["ptb-small", "ptb-large", "ptb-word-lm"]
    hand_made.collect(tmp_path, monkeypatch, processes=3, document=document, benchmarks=shown)
    hand_made.render(tmp_path, monkeypatch)
    table = pd.read_csv("results/cells.csv").set_index(
        ["benchmark", "implementation", "environment", "device"]
    )
    cell = Cell("ptb-large", "tensorflow/graph-cell", "tensorflow-2018", "training", "cpu")
    wall_s = hand_made.wall_s(cell, 2, document) / 2
    own = table.loc[cell.benchmark, cell.implementation, cell.environment, "cpu"]
    assert own.words_per_s == pytest.approx(20 * 35 / wall_s)
    assert (own.utilisation, own.clip_error) == (0.75, 7e-4)
    assert own.speedup == pytest.approx(2, rel=0.1)
    assert own.speedup_low < own.speedup < own.speedup_high

    page = Path("results/report/cudnn-lstm-ptb.md").read_text()
    assert_whole_tables(page)
    found = {(row[0], row[2]): row for row in rows(page) if len(row) == 8 and row[1] == "CPU"}
    own = found["LSTMBlockCell", "tensorflow-2018"]
    assert own[3] == "17,000 (1.1)"
    assert own[6].startswith(f"{20 * 35 / wall_s:,.0f} (2.") or "(1.9" in own[6]
    assert own[5] == "*not-run*" and found["CudnnLSTM", "tensorflow"][4] == "*unsupported*"
    (pair,) = [
        row
        for row in rows(page)
        if row[0] == "ptb-word-lm" and row[1] == "CPU" and row[2].endswith(", pytorch")
    ]
    assert re.match(r"[01]\.\d+ \[", pair[6])
    explained = {
        row[0]: row for row in rows(page) if row[0].startswith("ptb-") and row[1] in ("400", "700")
    }
    assert explained["ptb-small"][4] == "12.500 ms (4 %)"
    assert explained["ptb-large"][6] == "5,833 words/s (15 %)"
    dropped = [row for row in rows(page) if row[-1] == "0.651, 0.652, 0.653"]
    assert {row[-2] for row in dropped} == {"7.0e-04"} and len(dropped) == 2 * 13
    assert "5.5 to 9.6 times" in page and "stand-in" not in page
    trained = [row for row in rows(page) if row[-1].startswith("`0123456789ab")]
    assert {row[5] for row in trained} > {"179.500"} and {row[3] for row in trained} == {"2323"}
    assert "The implementations train the same model: **holds**; nearest to its bound, " in page
    assert "One epoch comes to what is known of it: **holds**; perplexity 270.5 in training" in page
    (divided,) = [
        row for row in rows(page) if "two workers" in row[0] and row[1:4] == ["CPU", "pytorch", "2"]
    ]
    assert divided[5] == "PyTorch nn.LSTM without cuDNN" and re.match(r"0\.\d+ \[", divided[6])
    with zipfile.ZipFile("results/records.zip") as packed:
        runs = [name for name in packed.namelist() if name.startswith("training/")]
    assert len(runs) == len(trained)


def damage(text: str) -> list[tuple[str, str]]:
    """Damaged forms of a good record, and what must be said of each."""
    good = json.loads(text)
    without = {key: value for key, value in good.items() if key != "samples"}
    return [
        (text[: len(text) // 2], "is damaged ("),
        ("", "is damaged ("),
        (json.dumps(without), "is not a valid record: top level: 'samples' is a required property"),
        (
            json.dumps(good | {"samples": [0.1, "x"]}),
            "is not a valid record: samples.1: 'x' is not",
        ),
        (json.dumps(good | {"schema_version": 0}), "has record schema 0, this workflow reads 2"),
    ]


def test_damaged_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hand_made.project(tmp_path)
    cell = Cell("stacked-lm", "pytorch/cell", "pytorch", "forward", "cpu")
    path = tmp_path / cell.record(1)
    for content, message in damage(path.read_text()):
        path.write_text(content)
        with pytest.raises(SystemExit) as stop:
            hand_made.collect(tmp_path, monkeypatch)
        line = str(stop.value)
        assert line.startswith(cell.record(1)) and message in line and "\n" not in line
        assert not (tmp_path / "results" / "cells.csv").exists()
