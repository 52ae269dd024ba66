"""The lines that use a cell's fastest styles in a program of one's own."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from measurement.cells import CELLS
from plan import own
from plan.matrix import implementation_file
from reporting import own_cell_lines
from reporting.blocks import Block, Code, Text
from reporting.sections import Tables
from reporting.sections.own_cell import name, pairs, winners


@dataclass(frozen=True)
class Use:
    """How a fastest implementation is used."""

    label: str
    purposes: list[str]
    code: str  # "" where its files alone say it
    more: str
    file: str
    step: str  # the generated one


@dataclass(frozen=True)
class Answer:
    uses: list[Use]
    folder: str
    weights: dict


def analyse(tables: Tables, about: Mapping) -> Answer | None:
    said = [each for one in (False, True) for each in winners(pairs(tables, about, one), one)]
    if not said:
        return None
    cell = own.name_of(name(about))
    folder = f"{own.FOLDER}/{cell}"
    shapes = about["document"]["benchmarks"]
    shape = next(each for each in shapes.values() if each.get("cell") == name(about))
    labels = {each.implementation: each.label for each in said}
    found = []
    for implementation, label in labels.items():
        wins = (each for each in said if each.implementation == implementation)
        purposes = ["one sequence" if each.request else each.phase for each in wins]
        purposes = list(dict.fromkeys(purposes))
        infers = bool({"forward", "one sequence"} & {*purposes})
        size = {**shape, "batch": 1 if purposes == ["one sequence"] else shape["batch"]}
        if {"forward", "one sequence"} <= {*purposes}:
            size["single"] = "; for one sequence batch=1"
        code, more = own_cell_lines.of(implementation, cell, folder, size)
        framework = implementation.partition("/")[0]
        step = f"{folder}/{own.FRAMEWORKS.get(framework, framework)}.py"
        file = implementation_file(implementation)
        found.append(Use(label, purposes, code, more * infers, file, step))
    return Answer(found, folder, weights_of(name(about)))


def write(answer: Answer) -> Iterator[Block]:
    for each in answer.uses:
        files = f": the generated step `{each.step}` in the loops of `{each.file}`."
        files = ":" if each.code else files
        yield Text(f"**{each.label}**, fastest for {', '.join(each.purposes)}{files}")
        yield from (Code(text) for text in (each.code, each.more) if text)
    weights = answer.weights

    def columns(gates: Sequence[str]) -> str:
        return f"{len(gates)} H]" + (f": {' '.join(gates)}" if gates else "")

    made = ("pytorch", "tensorflow", "jax", "reference")
    files = ", ".join(f"`{answer.folder}/{framework}.py`" for framework in made)
    same = weights["input"] == weights["recurrent"]
    started = ", ".join(f"{state} = {start:g}" for state, start in weights["states"].items())
    yield Text(
        f"Generated, to read and to copy: {files} (the last one: NumPy, with the gradient). Of D inputs and H units, columns gate by "
        f"gate: `w_input` [D, {columns(weights['input'])}; `w_recurrent` [H, {columns(weights['recurrent'])}; `bias` as `w_input`'s "
        f"columns; TensorFlow's `w`: {'`w_input` above `w_recurrent`' if same else 'the pair of the two'}; `own`: "
        f"{', '.join(f'{each} [H]' for each in weights['own']) or 'empty'}. `states`, [B, H] each, begin with {started}."
    )


def weights_of(cell: str) -> dict:
    """What the lines' arguments hold, by name."""
    kind = CELLS[cell]
    alone = [f"bias of {sum_}" for sum_ in kind.biases[len(kind.of_x) :]]
    return {
        "input": kind.of_x,
        "recurrent": kind.of_h,
        "own": [*alone, *kind.vectors],
        "states": dict(zip(kind.states, kind.starts, strict=True)),
    }
