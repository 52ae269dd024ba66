"""Verdicts on the documents' claims, of every source of numbers: the documents themselves, this machine and others."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from plan import matrix
from reporting import published
from stats.claims import MISSING, decide
from stats.comparisons import choices
from stats.quantities import KEYS, Number, Numbers, of_cells, of_document

NOT_SAID = {"verdict": MISSING, "cases": []}


def number_of(path: str) -> str:
    """`config/published/001-stacked-lm.csv` -> `001`"""
    return Path(path).name.partition("-")[0]


def _corrected(numbers: Numbers, document: str, contradictions: Iterable[dict]) -> Numbers:
    """A document's numbers, of which contradictory ones are what the others make of them."""
    found = dict(numbers)
    for entry in contradictions:
        key = tuple(entry[key] for key in KEYS)
        known = not entry["either"]  # which of the two numbers is the wrong one
        if known and entry["document"] == document and key in numbers:
            value = entry["consistent"]
            found[key] = Number(value, value, value)
    return found


def _renamed(numbers: Numbers, claim: Mapping) -> Numbers:
    """A document's numbers, also by the names that a claim's benchmarks have here (`published_as`)."""
    place, found = KEYS.index("benchmark"), dict(numbers)
    for here, there in claim.get("published_as", {}).items():
        for key, number in numbers.items():
            if key[place] == there:
                found[*key[:place], here, *key[place + 1 :]] = number
    return found


def decide_published(claim: Mapping, numbers: pd.DataFrame, contradictions: list[dict]) -> dict:
    """`claims.decide` on the numbers of one document. `corrected`: the verdict, where it would be another one if contradictory numbers
    were what the others make of them."""
    if claim.get("ours"):
        return NOT_SAID
    own = of_document(numbers)
    found = decide(claim, _renamed(own, claim))
    document = next(iter(numbers["document"]), "")
    then = decide(claim, _renamed(_corrected(own, document, contradictions), claim))
    return found | ({"corrected": then["verdict"]} if found["verdict"] != then["verdict"] else {})


def _paths(document: str) -> list[str]:
    """The files of numbers that were published for a document, its own first."""
    paths = matrix.published_files(f"{document}*")
    return sorted(paths, key=lambda path: not path.endswith(f"-{document}.csv"))


def consequences(claims: Iterable[Mapping], contradictions: list[dict]) -> list[dict]:
    """Published numbers that contradict themselves, each with what follows: `changes`, [{"claim", "verdict",
    "corrected"}] of the verdicts on the document that would be other ones if this number alone were corrected, and
    `consequence`: `either` if nothing shows which of two numbers is wrong, `verdict` if there are such, `number` if it is plainly wrong, else `rounding`."""
    claims = [claim for claim in claims if not claim.get("ours")]
    printed = {
        (name, number_of(path)): of_document(published.numbers([path]))
        for name in {claim["document"] for claim in claims}
        for path in _paths(name)
    }
    found = []
    for entry in contradictions:
        changes = []
        for claim in claims:
            numbers = printed.get((claim["document"], entry["document"]), {})
            corrected = _corrected(numbers, entry["document"], [entry])
            before, after = (
                decide(claim, _renamed(each, claim))["verdict"] for each in (numbers, corrected)
            )
            if before != after:
                changes.append({"claim": claim["name"], "verdict": before, "corrected": after})
        levels = {"either": entry["either"], "verdict": changes, "number": entry["plain"]}
        consequence = next((level for level, so in levels.items() if so), "rounding")
        found.append(entry | {"changes": changes, "consequence": consequence})
    return found


def _shapes(claim: Mapping, cells: pd.DataFrame) -> set[str]:
    """The benchmarks on which both sides of a claim's ratios have rows, measured or not."""
    rows = cells[cells["document"] == claim["document"]]
    sides = [ratio[side] for ratio in claim.get("ratios", {}).values() for side in ("of", "to")]
    found = [
        set(rows.loc[rows["implementation"].isin(choices(side)["implementation"]), "benchmark"])
        for side in sides
        if "implementation" in side
    ]
    return set.intersection(*found) if found else set()


def by_document(
    claims: Iterable[dict], cells: pd.DataFrame, contradictions: list[dict]
) -> list[dict]:
    """What reports show of all claims, by document: [{"number": its number, "sources": names, "claims"}].

    A claim gains `verdicts`, {source: what decide() finds}. A source is the number of a published document, or a generation of
    environments and a machine, of the past only with numbers, of other machines than the first, this run's, only with rows;
    `cells` as in cells.csv.
    """
    machines = pd.Categorical(cells["machine"], categories=list(dict.fromkeys(cells["machine"])))
    by = [cells["environment"].map(matrix.generation), machines, "document"]
    measured = {}
    for (when, machine, name), rows in cells.groupby(by, observed=True):
        if machine:
            measured.setdefault((when, machine), {})[name] = of_cells(rows)
    first = next(iter(cells["machine"]), "")
    printed = {path: published.numbers([path]) for path in matrix.published_files("*")}
    found = {}
    for claim in claims:
        name = claim["document"]
        paths = _paths(name)
        verdicts = {
            number_of(path): decide_published(claim, printed[path], contradictions)
            for path in paths
        }
        for (when, machine), documents in measured.items():
            own = documents.get(name, {})
            if own or (when == matrix.NOW and (machine == first or name in documents)):
                verdicts[f"{when}, {machine}"] = decide(claim, own, _shapes(claim, cells))
        group = found.setdefault(name, {"claims": []})
        group["number"] = number_of(paths[0]) if paths else ""
        group["sources"] = list(verdicts)
        group["claims"].append(claim | {"verdicts": verdicts})
    return list(found.values())
