"""The filter that makes all tables, and the words rows and machines are called by."""

from plan import matrix
from reporting import page, words

ROWS = [
    {
        "name": "A | B",
        "time": 0.5,
        "ratio": 0.9,
        "low": 0.8,
        "high": 1.1,
        "status": "ok",
        "machine": "m",
    },
    {
        "name": "C",
        "time": None,
        "ratio": None,
        "status": "failed",
        "published": 2.0,
        "machine": "n",
    },
]
COLUMNS = [
    ["Row", "name"],
    ["Time (ms)", "time", "ms"],
    ["Ratio", ["ratio", "low", "high"], "ratio2"],
    ["Published (s)", "published", "two"],
    ["Nothing", "nothing", "two"],
]


def table(machines: dict[str, str]) -> list[str]:
    template = page.environment().from_string("{{ rows | table(columns) }}")
    return template.render(rows=ROWS, columns=COLUMNS, machines=machines).splitlines()


def test_a_table_aligns_dashes_and_says_statuses() -> None:
    """A status takes the place of the first number; a published number stays; a column without any goes."""
    assert table({"m": "M"}) == [
        "| Row | Time (ms) | Ratio | Published (s) |",
        "| :-- | --: | :-- | --: |",
        "| A \\| B | 500.000 | 0.90 [0.80, 1.10] undecided | – |",
        "| C | *failed* |  | 2.00 |",
    ]


def test_several_machines_have_a_column() -> None:
    lines = table({"m": "M", "n": "N"})
    assert lines[0].startswith("| Machine | Row |")
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| M", "| N"]


def test_names_tell_implementations_apart() -> None:
    names = words.names(matrix.implementations())
    assert len(set(names.values())) == len(names)
    assert names["pytorch/fine-grained"] == "PyTorch, operators"
    assert names["pytorch/fused"] == "PyTorch nn.LSTM"


def test_a_machine_is_called_by_its_processor() -> None:
    facts = {
        "cpu": {"Model name": "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz"},
        "cores": 2,
        "gpus": [],
    }
    assert words.machines([("x-1", facts)]) == {"x-1": "Intel Xeon Platinum 8481C, 2 cores"}
    two = words.machines([("x-abc123", facts), ("x-def456", facts)])
    assert two["x-def456"] == "Intel Xeon Platinum 8481C, 2 cores (def456)"


def test_every_flexibility_has_one_word() -> None:
    used = {entry["flexibility"] for entry in matrix.implementations() if "flexibility" in entry}
    assert used == set(words.LEVELS)


def test_only_folds_are_html() -> None:
    text = page.to_html(
        "# T\n\n<details><summary>a < b</summary>\n\n<b>x</b>\n\n</details>\n", page.REPORT
    )
    assert "<details><summary>a &lt; b</summary>" in text and "&lt;b&gt;x" in text
