"""A table of a document: its rows as measured here, beside its own numbers."""

from collections.abc import Mapping, Sequence

from plan.matrix import NOW
from reporting.layout import none
from reporting.sections import OK, Tables, on, rows

COLUMNS = (
    *("machine", "label", "environment", "framework_version", "phase", "status"),
    *("wall_s", "wall_low_s", "wall_high_s", "interval", "wall_median_s", "wall_std_s"),
    *("elapsed_s", "sequences_per_s", "words_per_s", "processes", "batches", "utilisation"),
    *("speedup", "speedup_low", "speedup_high", "output_error", "gradient_error"),
    "published_wall_s",
)
PHASES = {"forward": "forward-only", "training": "entire-training"}


def analyse(
    tables: Tables,
    about: Mapping,
    families: Sequence[str],
    device: str,
    layout: str,
    benchmarks: Sequence[str] = ("*",),
) -> dict | None:
    """{"rows", "layout", "folded", "short": [{"machine", "phase", "first", "last", "count", "once"}], its fastest row and its slowest,
    and whether all of them have one process, where others have more}. Rows without a number are left to the list at the page's end, but for those that
    the document has a number of. Where nothing was measured, its numbers stand folded; where it has none, nothing."""
    cells = on(tables.cells, benchmarks)
    own = cells[cells["family"].isin(families) & (cells["device"] == device)]
    measured = own["status"] == "ok"
    printed = own["published_wall_s"].notna() & (own["generation"] == NOW)
    if not measured.any():
        printed &= own["machine"] == next(iter(own["machine"]), "")  # once is enough
    shown = own[measured | printed]
    if shown.empty:
        return None
    found = rows(shown, *COLUMNS)
    sure = "confidence" in set(shown.loc[measured, "interval"])
    for row in found:
        phase = PHASES[row["phase"]] if len(about["document"]["phases"]) > 1 else None
        row["label"] += f" ({phase})" if phase else ""
        row["environment"] += f" {row['framework_version']}" if row["framework_version"] else ""
        # One batch has no middle half; and beside intervals of rows with three processes none stands that is no such.
        other = sure and row["interval"] != "confidence"
        if row["status"] == OK and (other or none(row["wall_std_s"])):
            row["wall_low_s"] = row["wall_high_s"] = None
        row["error"] = row["output_error" if row["phase"] == "forward" else "gradient_error"]
    short, protocols = [], {each["machine"]: each["protocol"] for each in about["machines"]}
    for (machine, phase), those in shown[shown["status"] == "ok"].groupby(
        ["machine", "phase"], sort=False
    ):
        ordered = rows(those.sort_values("wall_median_s"), "name", "environment", "wall_median_s")
        ends = {"first": ordered[0], "last": ordered[-1], "count": len(ordered)}
        ends["once"] = protocols[machine]["processes"] > 1 and bool((those["processes"] == 1).all())
        short.append({"machine": machine, "phase": PHASES[phase], **ends})
    return {
        "rows": found,
        "layout": layout,
        "short": short,
        "device": device,
        "folded": not measured.any(),
        "interval": "95 % interval" if sure else "quartiles",
    }
