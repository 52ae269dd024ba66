"""What was found here: statements that hold come first, one that stopped to be true says so, the others are named."""

import pandas as pd

from plan import matrix
from reporting import page
from reporting.sections import Tables, findings, plain
from stats import claims

ABOUT = {
    "name": "stacked-lm",
    "document": {"title": "Stacked: a model"},
    "machine_names": {"m": "a machine"},
}


def row(implementation: str, phase: str, seconds: float, machine: str = "m") -> dict:
    """A row of the table; processes are 1 % apart."""
    return {
        **{"document": "stacked-lm", "benchmark": "stacked-lm", "implementation": implementation},
        **{"environment": "e", "machine": machine, "device": "cpu", "phase": phase, "status": "ok"},
        **{"wall_s": seconds, "wall_median_s": seconds, "words_per_s": None},
        **{"kernel_schedule_s": None, "kernel_build_s": None},
        "process_medians_s": [seconds, seconds * 1.01, seconds / 1.01],
    }


def found(times: dict[str, float]) -> dict[str, dict]:
    rows = [row(name, phase, s) for name, s in times.items() for phase in ("forward", "training")]
    data = findings.analyse(Tables(pd.DataFrame(rows), pd.DataFrame(), pd.DataFrame()), ABOUT)
    return {each["name"]: each for each in findings.merge([data])["findings"]}


def test_decided_by_this_run() -> None:
    times = {"pytorch/fine-grained": 1.0, "pytorch/fine-grained-jit": 1.2}
    times |= {"tensorflow/graph-unrolled": 1.0, "tensorflow/graph-xla": 0.5}
    shown = found(times)
    first, second, *others = shown.values()
    (holds,), (fails,) = first["verdicts"], second["verdicts"]
    assert first["name"] == "torchscript-gains-nothing" and holds["machine"] == "a machine"
    assert holds["verdict"] == claims.HOLDS
    assert [each[:13] for each in holds["ratios"]] == ["forward: 1.20", "training: 1.2"]
    assert second["name"] == "xla-gains-little" and fails["verdict"] == claims.FAILS
    assert others and not any(each["verdicts"] for each in others)
    assert first["means"] and first["refuted_by"] and first["called"] == "Stacked"


def test_machines_that_differ() -> None:
    """A sentence that holds on one machine only says so, and what it means is said of that one."""
    times = {"pytorch/fine-grained": 1.0, "pytorch/fine-grained-jit": 1.2}
    rows = [
        row(
            name,
            phase,
            seconds if (name, machine) != ("tensorflow/graph-xla", "n") else 0.5,
            machine,
        )
        for machine in "mn"
        for name, seconds in (
            times | {"tensorflow/graph-unrolled": 1.0, "tensorflow/graph-xla": 1.2}
        ).items()
        for phase in ("forward", "training")
    ]
    about = ABOUT | {"machine_names": {"m": "Zen 5", "n": "Xeon"}}
    tables = Tables(pd.DataFrame(rows), pd.DataFrame(), pd.DataFrame())
    data = findings.merge([findings.analyse(tables, about)])
    assert data["several"] == {"all": [1, 2], "hold": [1], "differ": [2]}
    told = {**about, "introduction": [], "preliminary": False, "stand_in": "", "name": ""}
    parts = [{"section": "findings", "title": "", "data": plain(data), "figure": None}]
    shown = page.markdown("Title", told, parts)
    assert "Of 2 that two machines or more have numbers of, 1 hold" in shown
    assert "1 on some and not on others (2): " in shown
    same, other = shown.split("## ")[1:3]
    assert "- *Means*: " in same and "- *Means, where it holds*: " in other
    assert "Zen 5: **holds**" in other and "Xeon: **does not hold**" in other


def test_ten_or_more_of_several_documents() -> None:
    """And no other document's claims are among them."""
    names = {each["name"] for each in matrix.findings()}
    assert len(names) >= 10 and not names & {each["name"] for each in matrix.claims()}
    assert {each["document"] for each in matrix.findings()} >= {"stacked-lm", "tvm-lstm"}


def test_a_document_without_any_adds_nothing() -> None:
    tables = Tables(pd.DataFrame(), pd.DataFrame(), pd.DataFrame())
    assert findings.analyse(tables, ABOUT | {"name": "cudnn-lstm-ptb"}) is None
