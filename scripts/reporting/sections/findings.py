"""What no document says, as statements that this run's numbers decide (config/claims.yaml)."""

from collections.abc import Iterable, Mapping

from plan import matrix
from reporting.sections import Tables
from stats import claims, verdicts

HOLDING = (claims.HOLDS, claims.LIKELY, claims.PARTLY, claims.LIKELY_PARTLY)
FAILING = (claims.LIKELY_SAME, claims.SAME, claims.LIKELY_FAILS, claims.FAILS)
BEST_FIRST = (*HOLDING, claims.OPEN, *FAILING, claims.MISSING)


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"findings": [{"name", "statement", "means", "refuted_by", "document", "called": its title, "ratio": what is divided by
    what, where it is one thing, "verdicts": [{"machine", "verdict", "decided": which cases do, "ratios": in words, of the
    cases that have one}], "differs": whether it holds on one machine and not on another, "rank": the least sure verdict's, of
    machines with one}]}"""
    own = [each for each in matrix.findings() if each["document"] == about["name"]]
    if not own:
        return None
    (group,) = verdicts.by_document(own, tables.cells, [])
    return {"findings": [_shown(each, about) for each in group["claims"]]}


def _shown(finding: Mapping, about: Mapping) -> dict:
    found = [
        _on(source.removeprefix("now, "), each, about["machine_names"])
        for source, each in finding["verdicts"].items()
        if source.startswith("now, ")
    ]
    ranks = [BEST_FIRST.index(each["verdict"]) for each in found]
    missing = BEST_FIRST.index(claims.MISSING)
    said = {each["verdict"] for each in found}
    return {
        **{key: finding[key] for key in ("name", "statement", "document")},
        **finding["finding"],
        "called": about["document"]["title"].partition(":")[0],
        "ratio": next(iter(finding["ratios"])) if len(finding["ratios"]) == 1 else "",
        "verdicts": [each for each in found if each["verdict"] != claims.MISSING],
        "differs": not said.isdisjoint(HOLDING) and not said.isdisjoint(FAILING),
        "rank": max((rank for rank in ranks if rank != missing), default=missing),
    }


def _on(machine: str, found: Mapping, names: Mapping) -> dict:
    """A verdict, and the ratios that it rests on: what stands behind a case's figures."""
    several = len(found["cases"]) > 1
    ratios = [
        f"{case['name']}: " * several + case["figures"].rpartition(" = ")[2]
        for case in found["cases"]
        if "value" in case
    ]
    # Not the whole note: which ratios are of too few clean processes, their marks say.
    about = {"verdict": found["verdict"], "decided": found["decided"], "ratios": ratios}
    return {"machine": names.get(machine, machine), **about}


def merge(parts: Iterable[Mapping]) -> dict:
    """Of all documents, those that hold first; "several": of those with verdicts of two machines or more, the places of all,
    of those that hold on each, and of those that differ."""
    found = [each for part in parts for each in part["findings"]]
    found.sort(key=lambda each: each["rank"])
    places = {
        number: {each["verdict"] for each in one["verdicts"]}
        for number, one in enumerate(found, start=1)
        if len(one["verdicts"]) > 1
    }
    return {
        "findings": found,
        "several": {
            "all": list(places),
            "hold": [number for number, said in places.items() if said <= {*HOLDING}],
            "differ": [number for number in places if found[number - 1]["differs"]],
        },
    }
