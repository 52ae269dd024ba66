"""A cell of somebody's own: what it costs over the best LSTM, and every style of it."""

from collections.abc import Mapping

import pandas as pd

from plan import own
from plan.matrix import NOT_RUN, NOW
from reporting import words
from reporting.sections import OK, Tables, plain
from reporting.sections.cell_rows import PLACE, over

KEYS = ["machine", "device", "label"]


def name(about: Mapping) -> str:
    """`own.my_cell`"""
    shapes = about["document"]["benchmarks"].values()
    return next(shape["cell"] for shape in shapes if own.name_of(shape.get("cell", "")))


def of(about: Mapping, cell: str, request: bool) -> list[str]:
    """The document's benchmarks of a cell, of single sequences or of whole batches."""
    return [
        called
        for called, shape in about["document"]["benchmarks"].items()
        if shape.get("cell", "lstm") == cell and called.startswith(own.SINGLE) == request
    ]


def pairs(tables: Tables, about: Mapping, request: bool) -> pd.DataFrame:
    """Rows of today, with a number or not, of the cell, and `lstm`: of those with a number, the LSTM's rows of the same
    machine, device and phase."""
    cells = tables.cells[tables.cells["generation"] == NOW]
    cells = cells[cells["flexibility"].notna()]
    mine = cells[cells["benchmark"].isin(of(about, name(about), request))]
    others = cells[cells["benchmark"].isin(of(about, "lstm", request)) & (cells["status"] == OK)]
    known = {place: rows for place, rows in others.groupby(PLACE, sort=False)}
    none = others.head(0)
    return mine.assign(
        lstm=[known.get(tuple(row[key] for key in PLACE), none) for _, row in mine.iterrows()]
    )


def compared(row: Mapping) -> dict:
    """Of a row with a number: over the style's own LSTM (`own`), over the fastest LSTM (`best`) and which that is, with
    intervals."""
    lstm = row["lstm"]
    same = lstm[
        (lstm["implementation"] == row["implementation"])
        & (lstm["environment"] == row["environment"])
    ]
    base = None if lstm.empty else lstm.loc[lstm["wall_median_s"].idxmin(), "label"]
    return {**over(row, same, "own"), **over(row, lstm, "best"), "base": base}


def error(row: Mapping) -> float | None:
    """The largest error against float64 that its check found, of outputs or gradients."""
    found = [row[key] for key in ("output_error", "gradient_error") if pd.notna(row[key])]
    return max(found) if found else None


def answers(rows: pd.DataFrame, request: bool) -> list[dict]:
    """The fastest row of the cell for each machine, device and phase, over the fastest LSTM."""
    found = []
    measured = rows[rows["status"] == OK]
    for place, here in measured.groupby(PLACE, sort=False):
        best = here.loc[here["wall_median_s"].idxmin()]
        if not best["lstm"].empty:
            kept = {key: best[key] for key in ("label", "implementation", "wall_median_s")}
            places = dict(zip(PLACE, place, strict=True))
            found.append(places | kept | compared(best) | {"request": request})
    return found


def styles(rows: pd.DataFrame) -> list[dict]:
    """A row a style and device, the fastest first: times and ratios by phase, and the largest error of both."""
    found: dict[tuple, dict] = {}
    for _, row in rows.iterrows():
        own_row = found.setdefault(tuple(row[key] for key in KEYS), {key: row[key] for key in KEYS})
        own_row["changed"] = row["flexibility"]
        if row["status"] == OK:
            own_row[f"{row['phase']}_s"] = row["wall_median_s"]
            for key, value in compared(row).items():
                own_row[f"{row['phase']}_{key}"] = value
            errors = [error(row), own_row.get("error")]
            own_row["error"] = max((each for each in errors if each is not None), default=None)
    fast = [each for each in found.values() if "training_s" in each or "forward_s" in each]

    def time(row: Mapping) -> tuple:
        return (
            row["machine"],
            row["device"],
            row.get("training_s", float("inf")),
            row.get("forward_s", float("inf")),
        )

    return sorted(fast, key=time)


def stopped(rows: pd.DataFrame) -> list[dict]:
    """Styles without a number on devices that took part, by reason; what this run left out is not among them."""
    absent = rows[~rows["status"].isin([OK, NOT_RUN])]
    absent = absent[absent["device"].isin(rows[rows["status"] == OK]["device"])]
    found = []
    for (machine, status, reason), those in absent.groupby(
        ["machine", "status", "reason"], sort=False
    ):
        labels = [f"{row['label']} ({row['phase']})" for _, row in those.iterrows()]
        found.append(
            {"machine": machine, "state": status, "reason": reason, "rows": ", ".join(labels)}
        )
    return sorted(found, key=lambda each: each["state"] == "unsupported")


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"cell", "answers", "styles", "requests": of single sequences, "stopped", "left_out": rows, "shape"}"""
    batches, single = (pairs(tables, about, request) for request in (False, True))
    if batches.empty:
        return None
    order = {"training": 0, "forward": 1}
    said = [*answers(batches, False), *answers(single, True)]
    said.sort(
        key=lambda each: (each["machine"], each["device"], each["request"], order[each["phase"]])
    )
    shape = about["document"]["benchmarks"][of(about, name(about), False)[0]]
    return plain(
        {
            "cell": words.cell(name(about)),
            "document": about["name"],
            "answers": said,
            "styles": styles(batches),
            "requests": styles(single),
            "stopped": stopped(batches),
            "left_out": int((batches["status"] == NOT_RUN).sum()),
            "shape": {
                key: shape[key] for key in ("batch", "length", "features", "hidden", "layers")
            },
        }
    )
