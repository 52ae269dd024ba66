"""Machines and environments, each once for all documents."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reporting import processors, words
from reporting.blocks import Block, Heading, Points, Table

FACTS = (
    "Architecture",
    "Model name",
    "CPU(s)",
    "Thread(s) per core",
    "Core(s) per socket",
    "L1d cache",
    "L2 cache",
    "L3 cache",
    "Hypervisor vendor",
)


@dataclass(frozen=True)
class Environment:
    name: str
    python: str
    packages: str
    settings: str  # that all its implementations have in common


@dataclass(frozen=True)
class Machine:
    name: str
    called: str  # by the data
    facts: list[str]
    documents: dict[str, str]  # {document: how it was measured, on which text, when}
    origin: str  # of results that were packed elsewhere
    environments: list[Environment]


@dataclass(frozen=True)
class Answer:
    machines: list[Machine]


def of_summaries(summaries: Sequence[Mapping]) -> Answer:
    """Of all documents' summaries."""
    found: dict[str, list[tuple[str, Mapping]]] = {}
    for each in summaries:
        for machine in each["machines"]:
            found.setdefault(machine["machine"], []).append((each["name"], machine))
    facts = {
        called: next((m["facts"] for _, m in of if m["facts"]), None)
        for called, of in found.items()
    }
    names = words.machines(facts.items())
    return Answer(
        [
            Machine(
                names[called],
                called,
                _facts(facts[called]),
                {name: _measured(machine) for name, machine in of},
                _origin(of[0][1]["origin"]),
                _environments([machine for _, machine in of]),
            )
            for called, of in found.items()
        ]
    )


def _facts(facts: Mapping | None) -> list[str]:
    if not facts:
        return []
    memory = f"{facts['memory_bytes'] / 2**30:.1f} GiB of memory"
    governor = f"frequency governor {facts['governor'] or 'not exposed'}"
    cpu = [f"{key}: {facts['cpu'][key]}" for key in FACTS if key in facts.get("cpu", {})]
    gpus = [f"GPU: {gpu['name']}, driver {gpu['driver']}, {gpu['memory']}" for gpu in facts["gpus"]]
    system = f"{facts['system']}, kernel {facts['kernel']}; {memory}; {facts['cores']} physical cores; {governor}"
    return [processors.name(facts) or "", system, "; ".join(cpu), *(gpus or ["No GPU"])]


def _measured(machine: Mapping) -> str:
    corpus, days, commits = machine["corpus"], machine["days"], machine["commits"]
    text = (
        f"; text: {'a **stand-in corpus**' if corpus['stand_in'] else corpus['source']}"
        if corpus
        else ""
    )
    when = " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "nothing measured"
    at = (
        f"; {len(commits)} commits"
        if len(commits) > 1
        else f"; commit {commits[0]}"
        if commits
        else ""
    )
    return f"{machine['how']}{text}; {when}{at}"


def _origin(origin: Mapping | None) -> str:
    if not origin:
        return ""
    by = f"packed by {origin['by']}" if origin["by"] else "by an unknown packer"
    at = (
        f", measured at commit {', '.join(origin['commits'])}"
        if len(origin["commits"]) == 1
        else ""
    )
    return f"Results from `{origin['folder']}`, {by}{at}, {origin['signed']}"


def _environments(machines: Sequence[Mapping]) -> list[Environment]:
    found: dict[str, Mapping] = {}
    for machine in machines:
        found |= machine["environments"]
    return [
        Environment(
            name,
            each["python"],
            ", ".join(
                f"{pin} {each['packages'][pin]}" for pin in each["pins"] if pin in each["packages"]
            ),
            "; ".join(
                f"{key} {value}" for key, value in each["settings"].items() if value is not None
            ),
        )
        for name, each in sorted(found.items())
    ]


def write(answer: Answer) -> Iterator[Block]:
    for place, machine in enumerate(answer.machines):
        yield Heading(machine.name)
        points = [f"{each}." for each in machine.facts if each]
        points.append(f"In tables of data: `{machine.called}`.")
        if machine.origin:
            points.append(f"{machine.origin}.")
        shared = dict.fromkeys(machine.documents.values())
        for how in shared:
            names = ", ".join(f"`{name}`" for name, own in machine.documents.items() if own == how)
            points.append(f"{names}: {how}.")
        yield Points(points)
        if not place:  # other machines' environments are in their results
            rows = [[each.name, each.python, each.packages] for each in machine.environments]
            yield Table(["Environment", "Python", "Packages"], rows)
