"""Libraries of the template's functions, of inference and of training."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import tvm

from measurement.contract import Unsupported
from recurrent_cells.cells import CELLS, Cell

from .library import compile_library, write_metadata
from .search.fingerprint import fingerprint
from .search.space import default_schedule, unit_of, vector_unit
from .spec import KernelSpec, Schedule
from .template import language_model
from .template.blocking import squarest
from .template.forward import add_forward
from .template.language_model_training import Surroundings
from .template.layout import LINE, classifier_shapes, flat_size, views_size, whole_lines
from .template.tiles import Functions
from .template.trained_layer import TrainedLayer
from .template.training import add_training


def template_functions(
    spec: KernelSpec, schedule: Schedule, target: dict[str, Any], cell: Cell | None = None
) -> Functions:
    """The template's `main`. cell: the one to compile, where it is none of those in cells/."""
    functions, cell = Functions(), _cell(spec, cell)
    add_forward(functions, cell, spec, schedule, unit_of(spec, target))
    return functions


def _cell(spec: KernelSpec, cell: Cell | None) -> Cell:
    """What is compiled: a cell by its name, unless another one is given."""
    cell = cell or CELLS[spec.cell]
    if cell.projected:
        raise Unsupported("the template has no cells that project their output")
    return cell


def compile_template(
    spec: KernelSpec, schedule: Schedule, target: dict[str, Any], library: Path
) -> dict[str, float]:
    """Compile the template. Seconds as compile_library's."""
    start = time.perf_counter()
    module = tvm.ir.IRModule(template_functions(spec, schedule, target).made)
    return compile_library(module, tvm.target.Target(target), library, start)[1]


def build_template(
    spec: KernelSpec,
    schedule: Schedule,
    target: dict[str, Any],
    directory: Path,
    vocabulary: int | None = None,
    classes: int | None = None,
    cell: Cell | None = None,
) -> dict[str, Any]:
    """Write kernel.so and kernel.json into `directory`; returns the metadata written.

    With a vocabulary, the library has the rest of the language model too, and its training step, if sizes allow; with
    classes, what trains a classifier of sequences (see classifier.py).
    """
    if spec.paired and (vocabulary or classes):
        raise Unsupported(f"in {spec.data_type} the template has bare layers only")
    start = time.perf_counter()
    unit = vector_unit(target)
    made = dict(template_functions(spec, schedule, target, cell).made)
    training = Functions()
    if vocabulary:
        made |= language_model.functions(spec, vocabulary, unit)
        if spec.input_size % LINE == spec.hidden_size % LINE == 0:
            own = _cell(spec, cell)
            # Tuned is the schedule of inference.
            training = training_functions(own, spec, default_schedule(spec, target), target)
            weights = flat_size(own, spec, vocabulary)
            Surroundings(spec, vocabulary, unit, weights).add(training)
            made |= training.made
    if classes and spec.hidden_size % LINE == 0:
        own = _cell(spec, cell)
        training = training_functions(own, spec, default_schedule(spec, target), target)
        weights = views_size(classifier_shapes(own, spec, classes))
        Surroundings(spec, classes, unit, weights).add(training, ["adam"])
        made |= training.made
    module, tvm_target = tvm.ir.IRModule(made), tvm.target.Target(target)
    executable, seconds = compile_library(module, tvm_target, directory / "kernel.so", start)
    return write_metadata(
        directory,
        "template",
        spec,
        target,
        seconds,
        schedule=asdict(schedule),
        lanes=unit.lanes,
        columns=squarest(unit.core) * unit.lanes,
        template=fingerprint("template-tuned", target),
        vocabulary=vocabulary,
        functions=training.shapes,
        products=_products(spec, executable),
    )


def _products(spec: KernelSpec, executable: Any) -> dict[str, dict[str, int]] | None:
    """{format: {instruction: how many}} of the machine code of products that are not of float32."""
    if not spec.paired:
        return None
    instruction = "vdpbf16ps"
    count = executable.mod.inspect_source("asm").count(f"\t{instruction}\t")
    return {spec.data_type: {instruction: count} if count else {}}


def training_functions(
    cell: Cell, spec: KernelSpec, schedule: Schedule, target: dict[str, Any]
) -> Functions:
    """The functions of training: of the first layer, `..._first`, and of each further one, `..._rest`."""
    if spec.paired:
        raise Unsupported(f"training by the template is in float32, not in {spec.data_type}")
    unit, functions = vector_unit(target), Functions()
    first = spec.input_size, whole_lines(spec.input_size)
    rest = spec.hidden_size, whole_lines(spec.hidden_size)
    for suffix, sizes in (("_first", first), ("_rest", rest))[: min(spec.depth, 2)]:
        layer = TrainedLayer(cell, spec, schedule, unit, *sizes)
        add_training(functions, layer, suffix)
    return functions


def build_training(
    spec: KernelSpec,
    schedule: Schedule,
    target: dict[str, Any],
    directory: Path,
    cell: Cell | None = None,
) -> dict[str, Any]:
    """Write kernel.so and kernel.json of the functions of training; returns the metadata written."""
    start = time.perf_counter()
    functions = training_functions(_cell(spec, cell), spec, schedule, target)
    module, tvm_target = tvm.ir.IRModule(functions.made), tvm.target.Target(target)
    _, seconds = compile_library(module, tvm_target, directory / "kernel.so", start)
    return write_metadata(
        directory,
        "training",
        spec,
        target,
        seconds,
        schedule=asdict(schedule),
        functions=functions.shapes,
    )
