"""The machine and its environments, once for all documents: no section of a list, steps/render_first_page.py writes it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from measurement.memory import KEPT
from reporting import processors, words
from reporting.blocks import Block, Heading, Points, Table
from reporting.layout import DASH

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
SETTINGS = (
    f"Unless a benchmark says otherwise: malloc keeps freed memory ({', '.join(f'`{k}={v}`' for k, v in KEPT.items())}) and "
    "denormal numbers are flushed to zero; [what either changes](analysis.md)."
)


def write(summaries: Sequence[Mapping]) -> Iterator[Block]:
    """Of all documents' summaries, of one machine."""
    found = {each["name"]: each["machines"][0] for each in summaries}
    first = next(iter(found.values()))
    facts = next((each["facts"] for each in found.values() if each["facts"]), None)
    yield Heading(words.machines([(first["machine"], facts)])[first["machine"]])
    points = [f"{each}." for each in _facts(facts) if each]
    points.append(f"Its name in `cells.csv`: `{first['machine']}`.")
    points.append(SETTINGS)
    points += [f"{_origin(first['origin'])}."] if first["origin"] else []
    measured = {name: _measured(machine) for name, machine in found.items()}
    for how in dict.fromkeys(measured.values()):
        names = ", ".join(f"`{name}`" for name, own in measured.items() if own == how)
        points.append(f"{names}: {how}.")
    yield Points(points)
    yield Table(["Environment", "Python", "Packages"], _environments(found.values()))


def _facts(facts: Mapping | None) -> list[str]:
    if not facts:
        return []
    memory = f"{facts['memory_bytes'] / 2**30:.1f} GiB of memory"
    governor = f"frequency governor {facts['governor'] or 'not exposed'}"
    cpu = [f"{key}: {facts['cpu'][key]}" for key in FACTS if key in facts.get("cpu", {})]
    gpus = [f"GPU: {gpu['name']}, driver {gpu['driver']}, {gpu['memory']}" for gpu in facts["gpus"]]
    kernel = f"{facts['system']}, kernel {facts['kernel']}"
    system = f"{kernel}; {memory}; {facts['cores']} cores; {governor}"
    return [processors.name(facts) or "", system, "; ".join(cpu), *(gpus or ["No GPU"])]


def _measured(machine: Mapping) -> str:
    corpus, days, commits = machine["corpus"], machine["days"], machine["commits"]
    text = ""
    if corpus:
        source = f"{words.text(corpus)}, from {corpus['source']}"
        text = f"; text: {'a **stand-in corpus**' if corpus['stand_in'] else source}"
    when = words.between(days[0], days[-1]) if days else "nothing measured"
    at = f"; commit{'s' * (len(commits) > 1)} {', '.join(commits)}" if commits else ""
    changed = " (+: with uncommitted changes)" * any(each.endswith("+") for each in commits)
    return f"{machine['how']}{text}; {when}{at}{changed}"


def _origin(origin: Mapping) -> str:
    """Of results that were packed elsewhere."""
    by = f"packed by {origin['by']}" if origin["by"] else "by an unknown packer"
    commits = origin["commits"]
    at = f", measured at commit {commits[0]}" if len(commits) == 1 else ""
    return f"Results from `{origin['folder']}`, {by}{at}, {origin['signed']}"


def _environments(machines: Iterable[Mapping]) -> list[list[str]]:
    environments: dict[str, Mapping] = {}
    for machine in machines:
        environments |= machine["environments"]
    found = []
    for name, each in sorted(environments.items()):
        packages = each["packages"]
        named = (f"{pin} {packages[pin]}" for pin in each["pins"] if pin in packages)
        found.append([name, each["python"] or DASH, ", ".join(named)])
    return found
