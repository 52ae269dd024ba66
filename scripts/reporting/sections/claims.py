"""What a document concludes, and whether it holds on published and on fresh numbers."""

from collections.abc import Mapping

from reporting import consistency, verdicts
from reporting.claims import MISSING
from reporting.sections import Tables

TITLE = "What the document concludes, and whether it holds"


def analyse(tables: Tables, about: Mapping, full=False) -> dict | None:
    """{"claims": [{"name", "statement", "lines", "verdicts": [text, a source each]}], "sources": their names, "counts":
    {verdict: how many} of today's on the first machine}; with `full`, the figures behind each verdict too."""
    if not about["claims"]:
        return None
    found = consistency.contradictions(consistency.files_of(about["name"]))
    (group,) = verdicts.by_document(about["claims"], tables.cells, found)
    sources = group["sources"]
    now = next((s for s in reversed(sources) if s.startswith("now")), None)
    today = [claim["verdicts"][now]["verdict"] if now else MISSING for claim in group["claims"]]
    return {
        "document": about["name"],
        "number": group["number"],
        "title": about["document"]["title"],
        "sources": sources,
        "called": [_called(source, about["machine_names"]) for source in sources],
        "claims": [claim if full else _short(claim) for claim in group["claims"]],
        "counts": {verdict: today.count(verdict) for verdict in dict.fromkeys(today)},
        "decidable": sum("gpu" not in str(claim) for claim in about["claims"]),
    }


def _called(source, machines):
    """`now, x86_64-2c-9d9fe8` -> `now, AMD EPYC, 2 cores`; `001` -> `Document 001`"""
    when, _, machine = source.partition(", ")
    return f"{when}, {machines.get(machine, machine)}" if machine else f"Document {source}"


def _short(claim):
    """A claim without the figures behind its verdicts."""
    kept = {key: claim[key] for key in ("name", "statement", "lines")}
    verdicts = {
        source: {key: found.get(key) for key in ("verdict", "note", "corrected")}
        for source, found in claim["verdicts"].items()
    }
    return kept | {"verdicts": verdicts}
