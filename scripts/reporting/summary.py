"""What pages say of a document besides its sections: its head, and what the first page reads of it."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import pandas as pd

from plan import own
from reporting import marks, words
from reporting.sections import Tables, plain


def cited(origin: Mapping) -> str:
    """The numbers of a published document and of earlier states of it, linked."""
    return " and ".join(words.cited(number, origin) for number in origin["numbers"])


def origin_words(origin: Mapping) -> str:
    """Where a document comes from, as far as it tells."""
    found = f"Reproduces document {cited(origin)}: *{origin['title']}*"
    found += f" by {origin['authors']}" if "authors" in origin else ""
    found += f" ({origin['year']}), measured on {origin['hardware']}."
    return found + (f" {origin['about']}" if "about" in origin else "")


def head(tables: Tables, about: Mapping) -> dict:
    """{"name", "title", "introduction": lines, "machine_names", "machines", "preliminary", "stand_in": see on_stand_in, "counts":
    {machine: {status: rows}}, "noise": what _noise says, "threads", "origin"}"""
    document, machines = about["document"], about["machines"]
    how, *others = dict.fromkeys(each["how"] for each in machines)
    if others:
        how = "how often rows were timed, and for how long, differs between machines"
    cells = tables.cells
    counts = {
        machine: own["status"].value_counts().to_dict()
        for machine, own in cells.groupby("machine", sort=False)
    }
    measured = (
        f"{sum(count.get('ok', 0) for count in counts.values())} of {len(cells)} rows have a number"
    )
    named = words.machines(((m["machine"], m["facts"]) for m in machines), in_full=True)
    on = "; ".join(named.values())
    introduction = [
        origin_words(document["origin"]) if "origin" in document else document["about"],
        f"Measured on {on}: {measured}. {how[0].upper()}{how[1:]}. "
        "[Machines and environments](#machines-and-environments).",
    ]
    origin = document.get("origin")
    answered = about["name"].startswith(own.DOCUMENT)  # its page begins with the answer
    return plain(
        {
            "name": about["name"],
            "title": document["title"],
            "introduction": [] if answered else introduction,
            "below_answer": introduction if answered else [],
            "machine_names": about["machine_names"],
            "machines": machines,
            "preliminary": any(machine["preliminary"] for machine in machines),
            "stand_in": on_stand_in({about["name"]: machines}, about["machine_names"]),
            "counts": counts,
            "noise": [
                _noise(machine, own) for machine, own in tables.measured().groupby("machine")
            ],
            "protocol": about["protocol"],
            "origin": origin and {**origin, "cited": cited(origin)},
        }
    )


def on_stand_in(documents: Mapping[str, list[dict]], names: Mapping[str, str]) -> str:
    """Which of some documents had a stand-in for their text, on which of their machines, in words: "all", "" where none had.
    names: of machines, as pages call them."""
    taken = {
        document: {
            each["machine"]: bool(each["corpus"]["stand_in"]) for each in machines if each["corpus"]
        }
        for document, machines in documents.items()
    }
    parts = []
    for document, machines in taken.items():
        on = [names.get(machine, machine) for machine, stand_in in machines.items() if stand_in]
        if on:
            parts.append(f"`{document}`" + f" on {words.listed(on)}" * (len(on) < len(machines)))
    everywhere = all(stand_in for machines in taken.values() for stand_in in machines.values())
    return "all" if parts and everywhere else "; ".join(parts)


def _noise(machine: str, cells: pd.DataFrame) -> dict:
    """{"machine", "processes", "disturbed", "rows", "noisy": those with too few clean processes}"""
    rows = [row for _, row in cells.iterrows()]
    return {
        "machine": machine,
        "processes": sum(int(row["processes"]) for row in rows),
        "disturbed": sum(int(row["processes"]) - marks.clean(row) for row in rows),
        "rows": len(rows),
        "noisy": sum(marks.noisy(row) for row in rows),
    }


def noise(summaries: Sequence[Mapping]) -> dict[str, Counter]:
    """{machine: how many of its "processes" are "disturbed", and how many of its "rows" "noisy"}, over all documents."""
    found: dict[str, Counter] = defaultdict(Counter)
    for each in (counts for one in summaries for counts in one["noise"]):
        found[each["machine"]].update({k: v for k, v in each.items() if k != "machine"})
    return found


def machine_names(summaries: Sequence[Mapping], in_full: bool = False) -> dict[str, str]:
    """Of the machines of all documents."""
    facts: dict[str, Mapping | None] = {}
    for machine in (machine for each in summaries for machine in each["machines"]):
        # A document of which nothing was measured knows none.
        facts[machine["machine"]] = facts.get(machine["machine"]) or machine["facts"]
    return words.machines(facts.items(), in_full)
