"""Measured schedules of one kernel in a MetaSchedule database on disk.

The template is not reached from a plain loop nest by schedule primitives (its time loop carries
state, its tiles share registers), so its parameters are decisions of a MetaSchedule trace on an
anchor function: a block that stands for the kernel and that the trace annotates. The database
then stores, finds and replays traces as for any other workload.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import tvm
from tvm.s_tir import Schedule as TirSchedule
from tvm.s_tir import meta_schedule as ms
from tvm.script.ir_builder import IRBuilder
from tvm.tirx.script import builder as ir

from recurrent_cells.cells import CELLS

from ..spec import KernelSpec, Schedule
from ..template.layout import buffer_shapes
from .fingerprint import fingerprint
from .space import choices, vector_unit
from .stored import open_json_database

FAILED_SECONDS = 1e10
"""What MetaSchedule records as the time of a candidate that did not build or run."""


class ScheduleDatabase:
    """Schedules of one kernel on one target with their measured seconds."""

    def __init__(self, spec: KernelSpec, target: dict[str, Any], directory: Path) -> None:
        """Open or create the database in `directory`. A corrupted one is set aside."""
        self.spec, self.target = spec, target
        self._tvm_target = tvm.target.Target(target)
        module = _anchor(spec, target)
        self._module = module
        self._database = open_json_database(directory)
        self._workload = self._database.commit_workload(module)
        self._samples = self._load()
        self._arguments = ms.arg_info.ArgInfo.from_prim_func(module["main"])

    def _load(self) -> dict[Schedule, list[float]]:
        samples: dict[Schedule, list[float]] = {}
        for record in self._database.get_all_tuning_records():
            # Records of another template, shape, target or version of TVM stay but do not count.
            if record.workload.same_as(self._workload):
                replayed = TirSchedule(self._module)
                record.trace.apply_to_schedule(replayed, remove_postproc=False)
                seconds = [float(value) for value in record.run_secs]
                samples.setdefault(_read(replayed), []).extend(seconds)
        return samples

    def commit(self, schedule: Schedule, seconds: Sequence[float]) -> None:
        """Record measured seconds of a schedule (none: it failed); adds to earlier ones."""
        seconds = list(seconds) or [FAILED_SECONDS]
        record = ms.database.TuningRecord(
            _write(self._module, self.spec, self.target, schedule).trace,
            self._workload,
            seconds,
            self._tvm_target,
            self._arguments,
        )
        self._database.commit_tuning_record(record)
        self._samples.setdefault(schedule, []).extend(seconds)

    def __len__(self) -> int:
        """Number of distinct schedules tried."""
        return len(self._samples)

    def __contains__(self, schedule: Schedule) -> bool:
        return schedule in self._samples

    def medians(self) -> dict[Schedule, float]:
        """Median seconds of every schedule that ran, best first."""
        medians = {key: statistics.median(values) for key, values in self._samples.items()}
        ran = [(key, value) for key, value in medians.items() if value < FAILED_SECONDS]
        return dict(sorted(ran, key=lambda item: item[1]))

    def best(self) -> Schedule | None:
        """The schedule measured best.

        Those that took part in a play-off (which have more samples) go before the others.
        """
        medians = self.medians()
        if not medians:
            return None
        most = max(len(self._samples[key]) for key in medians)
        finalists = [key for key in medians if 2 * len(self._samples[key]) >= most]
        return min(finalists, key=medians.__getitem__)


def _anchor(spec: KernelSpec, target: dict[str, Any]) -> tvm.ir.IRModule:
    """The function that stands for the kernel: its arguments and one block with its identity."""
    identity = {
        "lstm.kernel": spec.name,
        "lstm.template": fingerprint("template-tuned", target),
    }
    with IRBuilder() as builder, ir.prim_func(s_tir=True):
        ir.func_name("main")
        ir.func_attr({"global_symbol": "main", "tirx.noalias": True})
        shapes = buffer_shapes(CELLS[spec.cell], spec, vector_unit(target).lanes)
        buffers = {
            name: ir.arg(name, ir.Buffer(shape, "float32")) for name, shape in shapes.items()
        }
        with ir.sblock("root"):
            ir.reads()
            ir.writes()
            with ir.sblock("lstm"):
                ir.reads()
                ir.writes()
                ir.sblock_attr(identity)
                ir.buffer_store(buffers["y"], 0.0, [0, 0, 0])
    return tvm.ir.IRModule({"main": builder.get()})


def _write(
    module: tvm.ir.IRModule, spec: KernelSpec, target: dict[str, Any], schedule: Schedule
) -> TirSchedule:
    """A TIR schedule whose trace carries the template's parameters as sampled decisions."""
    result = TirSchedule(module)
    block = result.get_sblock("lstm")
    values = asdict(schedule)
    for name, candidates in _with(choices(spec, target), values).items():
        decision = candidates.index(values[name])
        probabilities = [1.0 / len(candidates)] * len(candidates)
        value = result.sample_categorical(candidates, probabilities, decision=decision)
        result.annotate(block, f"lstm.{name}", value)
    return result


def _with(options: dict[str, list[int]], values: dict[str, int]) -> dict[str, list[int]]:
    """The options, extended by the given values where these are not among them."""
    return {name: sorted({*options.get(name, []), value}) for name, value in values.items()}


def _read(schedule: TirSchedule) -> Schedule:
    """The template's parameters from an annotated anchor."""
    annotations = schedule.get(schedule.get_sblock("lstm")).annotations
    return Schedule(**{f.name: int(annotations[f"lstm.{f.name}"]) for f in fields(Schedule)})
