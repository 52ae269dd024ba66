"""Document 004's table: words per second, and speed-ups, whatever configuration its numbers are of."""

from collections.abc import Mapping

from reporting import marks
from reporting.layout import interval, none, within
from reporting.sections import Tables

TITLE = "The document's table"


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"benchmarks": names, "rows": a row a module, environment, device and machine, with a column a benchmark}"""
    unnamed = tables.published[tables.published["benchmark"] == about["document"]["unnamed"]]
    first = unnamed.drop_duplicates(["implementation", "quantity"]).set_index("implementation")
    rates, speedups = (
        first.loc[first["quantity"] == quantity, "value"] for quantity in ("words_per_s", "speedup")
    )
    cells = tables.cells[tables.cells["device"].isin(tables.measured()["device"].unique())]
    benchmarks = list(dict.fromkeys(tables.measured()["benchmark"]))
    found = []
    keys = ["machine", "device", "implementation", "environment"]
    for (machine, device, implementation, environment), own in cells.groupby(keys, sort=False):
        measured = own[own["status"] == "ok"].set_index("benchmark")
        if measured.empty:
            continue
        published = None
        if implementation in rates:
            more = f" ({speedups[implementation]:.1f})" if implementation in speedups else ""
            published = f"{rates[implementation]:,.0f}{more}"
        row = {"machine": machine, "device": device.upper(), "environment": environment}
        row |= {"label": about["labels"][implementation], "published": published}
        for benchmark in benchmarks:
            if benchmark in measured.index:
                cell = measured.loc[benchmark]
                row[benchmark] = f"{cell['words_per_s']:,.0f} {_sure(cell)}".strip()
        found.append(row)
    published = [
        {
            "label": about["labels"][name],
            "published": f"{rates[name]:,.0f}"
            + (f" ({speedups[name]:.1f})" if name in speedups else ""),
        }
        for name in rates.index
    ]
    return {"benchmarks": benchmarks, "rows": found, "published": published}


def _sure(cell: Mapping) -> str:
    """How sure a cell's rate is, and its speed-up, where there is one."""
    ends = (
        (cell["wall_low_s"], cell["wall_high_s"])
        if cell["interval"] == "confidence"
        else (None, None)
    )
    known = [within(cell["wall_median_s"], *ends)]
    if not none(cell["speedup"]):
        speedup = f"{cell['speedup']:.2f} {interval(cell['speedup_low'], cell['speedup_high'])}"
        known.append(f"({speedup.strip()})")
    return " ".join(filter(None, known)) + marks.beside(cell)
