"""Where a document was measured: processor, threads, text, versions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from plan import matrix
from reporting import style
from reporting.blocks import Block, Points
from reporting.sections import Tables


@dataclass(frozen=True)
class Answer:
    threads: list[int]
    text: str  # empty where the document has none
    versions: dict[str, list[str]]  # {generation: frameworks with their versions}


def analyse(tables: Tables, about: Mapping) -> Answer:
    (machine,) = about["machines"]
    versions: dict[str, list[str]] = {}
    measured = tables.measured().drop_duplicates("environment").sort_values("environment")
    for row in measured.to_dict("records"):
        name = style.look(row["implementation"]).name
        version = str(row["framework_version"]).partition("+")[0]
        versions.setdefault(row["generation"], []).append(f"{name} {version}")
    text = ""
    if corpus := machine["corpus"]:
        title = corpus.get("title", "the Penn Treebank")
        text = "a stand-in corpus" if corpus["stand_in"] else title
    return Answer(machine["threads"], text, versions)


def write(answer: Answer) -> Iterator[Block]:
    text = f"; text: {answer.text}" if answer.text else ""
    points = [f"{', '.join(map(str, answer.threads))} threads of [this machine](machine.md){text}."]
    for generation, names in sorted(answer.versions.items(), reverse=True):
        when = "Versions" if generation == matrix.NOW else f"Versions of {generation}"
        points.append(f"{when}: {', '.join(dict.fromkeys(names))}.")
    yield Points(points)
