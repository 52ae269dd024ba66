"""What a document concludes, and whether it holds on published and on fresh numbers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from reporting import consistency
from reporting.sections import Tables
from stats import verdicts
from stats.claims import MISSING, NO_NUMBER, OPEN, bounds

GPU, ROWS, DECIDED = "gpu", "rows", "decided"


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"claims": [verdicts.by_document's, with "now": verdicts on today's rows, by machine, "state": what decides it
    here, "lacks": rows without a number, "open": what _open says of each machine, "known": sources that have numbers for it, "figures": what is behind its verdicts], "sources":
    names, "called": the same in words, "total": how many, "counts": {machine: {verdict: how many}} of today's, "ours": of how many no document says it, "gpu", "lacking": of those without one}"""
    if not about["claims"]:
        return None
    found = consistency.contradictions(consistency.files_of(about["name"]))
    (group,) = verdicts.by_document(about["claims"], tables.cells, found)
    sources = group["sources"]
    today = [source for source in sources if source.startswith("now")]
    called = {source: _called(source, about["machine_names"]) for source in sources}
    on_gpu = not tables.measured(device="gpu").empty
    shown = [
        _shown(claim, today, on_gpu) | {"figures": _figures(claim, called)}
        for claim in group["claims"]
    ]
    return {
        "document": about["name"],
        "number": group["number"],
        "title": about["document"]["title"],
        "sources": sources,
        "called": [*called.values()],
        "claims": shown,
        "total": len(shown),
        "counts": {_machine(source): _counts(shown, source) for source in today},
        "ours": sum(bool(claim.get("ours")) for claim in shown),
        "gpu": sum(claim["state"] == GPU for claim in shown),
        "lacking": sum(claim["state"] == ROWS for claim in shown),
    }


def _called(source: str, machines: Mapping) -> str:
    """`now, x86_64-2c-9d9fe8` -> `now, AMD EPYC, 2 cores`; `001` -> `Document 001`"""
    when, _, machine = source.partition(", ")
    return f"{when}, {machines.get(machine, machine)}" if machine else f"Document {source}"


def needs_gpu(claim: Mapping) -> bool:
    """Whether a claim is about cells that only a GPU has."""
    text = str({key: claim[key] for key in ("for", "ratios", "at", "against") if key in claim})
    return "'gpu'" in text or "cudnn" in text or "/dlight" in text


def _machine(source: str) -> str:
    return source.partition(", ")[2]


def _counts(claims: Iterable[Mapping], source: str) -> Counter:
    return Counter(claim["verdicts"][source]["verdict"] for claim in claims)


def _known(found: Mapping) -> bool:
    """Whether some case of a verdict has a number."""
    return any(case["verdict"] != MISSING for case in found["cases"])


def _shown(claim: Mapping, today: Sequence[str], on_gpu: bool) -> dict:
    """on_gpu: whether a GPU has measured some row of the claim's document."""
    found = [claim["verdicts"][source] for source in today]
    decided = any(each["verdict"] != MISSING for each in found)
    state = DECIDED if decided else GPU if needs_gpu(claim) and not on_gpu else ROWS
    cases = [case for each in found for case in each["cases"]]
    lacks = dict.fromkeys(
        case["figures"].removeprefix(NO_NUMBER) for case in cases if case["verdict"] == MISSING
    )
    left = [_open(claim, source) for source in today]
    known = [name for name, each in claim["verdicts"].items() if _known(each)]
    own = {"lacks": list(lacks), "open": [each for each in left if each]}
    return {**claim, "state": state, "known": known, **own}


def _open(claim: Mapping, source: str) -> dict | None:
    """{"machine", "processes": of each cell, would decide a claim there, None: no number that anybody would run; "few": whether
    there are too few to tell}, where processes leave it undecided. One case beyond its bound is enough for a claim not to hold; to hold it needs all."""
    found, (above, below) = claim["verdicts"][source], bounds(claim)
    cases = [case for case in found["cases"] if "needs" in case]
    if found["verdict"] != OPEN or not cases:
        return None
    beyond = [case for case in cases if not above < case["value"] < below]
    needs = [case["needs"] for case in beyond or cases]
    known = [each for each in needs if each is not None]
    processes = min(known, default=None) if beyond else None if None in needs else max(needs)
    few = any(case["high"] is None for case in cases)  # three give an interval, which then tells
    return {"machine": _machine(source), "processes": None if few else processes, "few": few}


def _figures(claim: Mapping, called: Mapping[str, str]) -> dict:
    """{"columns": as the filter `table` takes them, "rows": the figures of each case, of sources that have some number, "without":
    [{"sources": the others, "lacks": what these lack first, "more": how much beside}]}"""
    rows: dict[str, dict] = {name: {"case": name} for name in claim["cases"]}
    columns = [["Case", "case"]]
    without: dict[tuple[str, ...], list[str]] = {}
    for source, found in claim["verdicts"].items():
        cases = found["cases"]
        if _known(found):
            columns.append([called[source], source])
            for case in cases:
                rows[case["name"]][source] = _in_words(case)
        elif cases:
            lacks = dict.fromkeys(case["figures"].removeprefix(NO_NUMBER) for case in cases)
            without.setdefault(tuple(lacks), []).append(called[source])
    kept = [row for row in rows.values() if len(row) > 1]
    others = [
        {"sources": sources, "lacks": lacks[0], "more": len(lacks) - 1}
        for lacks, sources in without.items()
    ]
    return {"columns": columns, "rows": kept, "without": others}


def _in_words(case: Mapping) -> str:
    """`1.61 / 1.51 = 1.07: holds`, and what it would be if a published time were corrected."""
    figures = case["figures"]
    if case["verdict"] != MISSING:
        figures += f": {case['verdict']}"
    if "corrected" in case:
        figures += f" (†{case['corrected']['figures']}: {case['corrected']['verdict']})"
    return figures
