"""What pages say of a document besides its sections: its head, and what the first page reads of it."""

from collections.abc import Mapping, Sequence

from plan import own
from reporting import words
from reporting.sections import Tables, plain


def origin_words(origin: Mapping) -> str:
    """Where a document comes from, as far as it tells."""
    cited = " and ".join(words.cited(number, origin) for number in origin["numbers"])
    found = f"Document {cited}: *{origin['title']}*"
    found += f" by {origin['authors']}" if "authors" in origin else ""
    found += f" ({origin['year']}), measured on {origin['hardware']}."
    return found + (f" {origin['about']}" if "about" in origin else "")


def head(tables: Tables, about: Mapping) -> dict:
    """{"name", "title", "introduction": lines, "machines", "preliminary", "stand_in": see on_stand_in, "counts":
    {machine: {status: rows}}, "origin"}"""
    document, machines = about["document"], about["machines"]
    by_machine = tables.cells.groupby("machine", sort=False)
    counts = {machine: own["status"].value_counts().to_dict() for machine, own in by_machine}
    measured = sum(count.get("ok", 0) for count in counts.values())
    named = words.machines(((m["machine"], m["facts"]) for m in machines), in_full=True)
    days = sorted({day for machine in machines for day in machine["days"]})
    when = f", {words.between(days[0], days[-1])}" if days else ""
    introduction = [
        origin_words(document["origin"]) if "origin" in document else document["about"],
        f"Measured on {'; '.join(named.values())}{when}: {measured:,} results. [Explore them]"
        f"(index.html#document={about['name']}) · [machine and protocol](machine.md)",
    ]
    answered = about["name"].startswith(own.DOCUMENT)  # its page begins with the answer
    return plain(
        {
            "name": about["name"],
            "title": document["title"],
            "introduction": [] if answered else introduction,
            "machines": machines,
            "preliminary": any(machine["preliminary"] for machine in machines),
            "stand_in": on_stand_in({about["name"]: machines}),
            "counts": counts,
            "origin": document.get("origin"),
        }
    )


def on_stand_in(documents: Mapping[str, Sequence[Mapping]]) -> str:
    """Which of some documents had a stand-in for their text on one machine, in words: "all", "" where none had."""
    taken = {
        name: bool(each["corpus"]["stand_in"])
        for name, machines in documents.items()
        for each in machines[:1]
        if each["corpus"]
    }
    own = [f"`{name}`" for name, stand_in in taken.items() if stand_in]
    return "all" if own and all(taken.values()) else words.listed(own)
