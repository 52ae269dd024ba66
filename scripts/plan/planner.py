"""The plan of a run: every job that a configuration asks for on this machine, and what of it is wanted still."""

import math
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from functools import cached_property, wraps

from kernels.spec import FLOAT32, KernelSpec
from kernels.workload import cell_name
from measurement import machine
from plan import environments, matrix, own, sources
from plan.corpus import Corpus
from plan.files import say_once
from plan.jobs import (
    BuildJob,
    CheckingJob,
    CheckJob,
    ConvergenceJob,
    CorpusJob,
    EnvironmentJob,
    Job,
    TimeJob,
    TuneJob,
    digest_of,
    wanted,
)
from plan.matrix import Measurement
from recurrent_cells.codegen.library import CompilerError, compiler

LINKERS = ("g++", "clang++")  # what TVM links kernels with
MEASURE = ("scripts/steps/measure_cell.py", "scripts/measurement/worker.py")
# What of a protocol decides how one process measures; the others decide how many there are, and when it is given up.
TIMED = ("warmup_batches", "rounds", "least_rounds", "most_rounds", "look_s", "most_s")
TIMED += ("compile_once", "nvtx")
# A process makes that many checks at most: one that dies takes no more with it.
CHECKS = 24


def kept(method: Callable) -> Callable:
    """A method of a plan whose answers are kept as long as the plan: most are asked for once a cell, or once a process."""

    @wraps(method)
    def answer(plan: "Plan", *arguments: object) -> object:
        key = (method.__name__, *arguments)
        if key not in plan._answers:
            plan._answers[key] = method(plan, *arguments)
        return plan._answers[key]

    return answer


class Plan:
    """What a configuration (validated) means here. `conda`: whether Snakemake builds environments by it; `cores`: of
    the run; instead: files of environments, by the files of envs/ whose place they take."""

    def __init__(
        self,
        config: dict,
        conda: bool = False,
        cores: int = 1,
        instead: Mapping[str, str] = environments.NOTHING,
    ) -> None:
        self.config, self.conda, self.cores, self.instead = config, conda, cores, instead
        self._answers: dict[tuple, object] = {}
        self.corpus = Corpus(config["corpus"])
        self.documents = {
            cell: name for name in config["documents"] for cell in matrix.cells_of(name)
        }
        self.benchmarks = matrix.benchmarks(config["documents"])
        self._places = {name: place for place, name in enumerate(self.benchmarks)}

    @cached_property
    def machine(self) -> str:
        """The machine that measures: this one, unless the configuration names a cluster's type of node."""
        return self.config["machine"] or machine.facts()["machine"]

    @cached_property
    def threads(self) -> int:
        return self.config["protocol"]["threads"] or machine.usable_cores()

    @kept
    def threads_on(self, benchmark: str) -> int:
        """CPU threads of whatever runs on a benchmark, and what kernels are built for: its own, its document's, or the run's."""
        own = self.benchmarks[benchmark].get("threads")
        document = next(d for cell, d in self.documents.items() if cell.benchmark == benchmark)
        return own or self.settings(document)["protocol"]["threads"] or self.threads

    @kept
    def settings(self, document: str) -> dict:
        """The protocol, check and training of a document."""
        return matrix.protocol_of(self.config, document)

    @kept
    def environment(self, name: str) -> EnvironmentJob:
        has = environments.here(name, self.config, self.conda, self.instead)
        return EnvironmentJob(name, {"fingerprint": has["fingerprint"]}, order=has)

    def corpus_job(self) -> CorpusJob:
        """The text's tokens. Which text it is may be known only once it was fetched."""
        return self._corpus_job(tuple(sorted(self.corpus.text().items())))

    @kept
    def _corpus_job(self, text: tuple) -> CorpusJob:
        stride = str(self.config["corpus"]["stride"])
        name = self.corpus.config["dataset"]
        parts = {"dataset": name, "text": digest_of(dict(text)), "stride": stride}
        return CorpusJob("corpus", parts, (self.environment("corpus"),))

    def reads_text(self, benchmark: str) -> bool:
        """Whether a benchmark is a language model, which reads the text's tokens."""
        return "vocabulary" in self.benchmarks[benchmark]

    @kept
    def shape(self, benchmark: str) -> KernelSpec:
        """The shape of a benchmark's layers, for a kernel."""
        sizes = self.benchmarks[benchmark]
        return KernelSpec(
            batch=sizes["batch"],
            length=sizes["length"],
            input_size=sizes["embedding" if self.reads_text(benchmark) else "features"],
            hidden_size=sizes["hidden"],
            depth=sizes["layers"],
            threads=self.threads_on(benchmark),
            cell=cell_name(sizes.get("cell", "lstm")),
            data_type=sizes.get("data_type", FLOAT32),
        )

    @kept
    def tuning(
        self, variant: str, environment: str, shape: KernelSpec, isa: str | None = None
    ) -> TuneJob:
        trials = self.config["kernels"]["trials"][variant]
        parts = {
            "trials": str(trials),
            "sources": self._kernel_sources("tune_kernel", variant, shape.cell),
            "environment": self.environment(environment).stem,
            "machine": self.machine,
            **self._linker,
        }
        order = {"shape": asdict(shape), "variant": variant, "trials": trials, "isa": isa}
        name = f"{environment}/{variant}/{shape.name}.{self.machine}"
        if own.name_of(shape.cell):  # what the file said then is another cell
            name += f".{parts['sources']}"
        if isa:  # a search of its own
            name, parts = f"{name}.{isa}", parts | {"isa": isa}
        needs, gpus = (self.environment(environment),), self._asks_gpu(variant)
        return TuneJob(name, parts, needs, order, threads=self.cores, gpus=gpus)

    @staticmethod
    def _kernel_sources(step: str, variant: str, cell: str) -> str:
        files = f"scripts/steps/{step}.py", matrix.variant_file(variant)
        return sources.digest(*files, *own.entries(cell))

    @cached_property
    def _linker(self) -> dict[str, str]:
        """A part of a kernel's identity where nothing here can link it; once there is a compiler, it is built after all."""
        if any(map(shutil.which, LINKERS)):
            return {}
        say_once(
            f"TVM's kernels will be unsupported: they need a C++ compiler ({' or '.join(LINKERS)})."
        )
        return {"linker": "none"}

    @cached_property
    def _compiler(self) -> dict[str, str]:
        """Likewise of implementations that compile C when they run."""
        try:
            compiler()
        except CompilerError as error:
            say_once(f"recurrent_cells will be unsupported: {error}.")
            return {"compiler": "none"}
        return {}

    def _asks_gpu(self, variant: str) -> int:
        """GPUs that tuning and building a kernel take: one, of a kernel for GPUs only, which asks for its architecture."""
        users = [entry for entry in matrix.implementations() if entry.get("kernel") == variant]
        return int(all(entry.get("devices") == ["gpu"] for entry in users))

    @kept
    def kernel(self, variant: str, environment: str, benchmark: str) -> BuildJob:
        """A benchmark's kernel; its shape's tuning, if it is tuned, serves all lengths and depths."""
        needs: list[Job] = [self.environment(environment)]
        if variant in self.config["kernels"]["trials"]:
            isa = self.benchmarks[benchmark].get("isa")
            needs.append(self.tuning(variant, environment, self.shape(benchmark).tuned, isa))
        limit = self.config["kernels"]["build_limit_s"]
        order = {"benchmark": self.benchmarks[benchmark], "variant": variant}
        parts = {
            "benchmark": digest_of(self.benchmarks[benchmark]),
            "threads": str(self.threads_on(benchmark)),
            "limit": str(limit),  # a build that took longer has none
            "sources": self._kernel_sources("build_kernel", variant, self.shape(benchmark).cell),
            "environment": self.environment(environment).stem,
            "tuning": needs[-1].digest if len(needs) > 1 else "none",
            "machine": self.machine,
            **self._linker,
        }
        return BuildJob(
            f"{environment}/{benchmark}/{variant}",
            parts,
            tuple(needs),
            order | {"threads": self.threads_on(benchmark), "build_limit_s": limit},
            threads=max(1, self.cores // 2),
            gpus=self._asks_gpu(variant),
        )

    def _common(
        self, cell: Measurement, kernel: BuildJob | None, corpus: CorpusJob | None
    ) -> dict[str, str]:
        """The parts of the identity of whatever is done with a cell."""
        protocol = self.settings(self.documents[cell])["protocol"]
        file = matrix.implementation_file(cell.implementation)
        which = self.benchmarks[cell.benchmark].get("cell", "")
        compiles = "compiler" in matrix.implementation(cell.implementation)
        return {
            **(self._compiler if compiles else {}),
            "benchmark": digest_of(self.benchmarks[cell.benchmark]),
            "workers": str(matrix.workers(cell.implementation)),
            "threads": str(self.threads_on(cell.benchmark)),
            "seed": str(protocol["seed"]),
            "sources": sources.digest(*MEASURE, file, *own.entries(which, cell.implementation)),
            "environment": self.environment(cell.environment).stem,
            "kernel": kernel.digest if kernel else "none",
            "corpus": corpus.digest if corpus else "none",
            "machine": self.machine,
        }

    def _order(self, cell: Measurement, **more: object) -> dict:
        protocol = self.settings(self.documents[cell])["protocol"]
        return {
            "identity": asdict(cell),
            "benchmark": self.benchmarks[cell.benchmark],
            "workers": matrix.workers(cell.implementation),
            "threads": self.threads_on(cell.benchmark),
            "seed": protocol["seed"],
            "timeout_s": protocol["timeout_s"],
            **more,
        }

    def check(self, cell: Measurement) -> CheckJob:
        return self._check(cell, self.corpus_job() if self.reads_text(cell.benchmark) else None)

    @kept
    def _check(self, cell: Measurement, corpus: CorpusJob | None) -> CheckJob:
        document = self.documents[cell]
        variant = matrix.implementation(cell.implementation).get("kernel")
        kernel = self.kernel(variant, cell.environment, cell.benchmark) if variant else None
        check = matrix.check_of(self.config, document, cell)
        return CheckJob(
            cell.name,
            {"check": digest_of(check), **self._common(cell, kernel, corpus)},
            tuple(filter(None, [self.environment(cell.environment), kernel, corpus])),
            self._order(cell, check=check),
            # Two checks at a time, as starting a framework keeps one core busy at most; of GPUs' rows, which compute
            # elsewhere, as many as there are cores.
            threads=1 if cell.device == "gpu" else max(1, self.threads // 2),
            gpus=matrix.workers(cell.implementation) if cell.device == "gpu" else 0,
            cell=cell,
            document=document,
        )

    def timing(self, cell: Measurement, process: int) -> TimeJob:
        return self._timing(self.check(cell), process)

    @kept
    def _timing(self, check: CheckJob, process: int) -> TimeJob:
        if process > 1:  # but for the number it is the first one
            first = self._timing(check, 1)
            return replace(first, name=f"{check.cell.name}-{process}", process=process)
        asked = self.settings(check.document)["protocol"]
        protocol = {key: asked[key] for key in TIMED}
        target = asked["target_interval"]
        if target is not None:  # of all processes together
            target *= math.sqrt(self.wanted_of(check.cell))
        return TimeJob(
            f"{check.cell.name}-{process}",
            {"protocol": digest_of(protocol), **check.parts},
            (*check.needs, check),
            self._order(check.cell, protocol=protocol, target_interval=target),
            threads=self.cores,
            gpus=check.gpus,
            cell=check.cell,
            document=check.document,
            process=process,
        )

    def convergence(self, cell: Measurement) -> ConvergenceJob:
        check, document = self.check(cell), self.documents[cell]
        run = self.settings(document)["training"]
        points = [point["batch"] for point in matrix.document(document)["training"]["points"]]
        protocol = {key: run[key] for key in ("batches", "checkpoint_batches")} | {"points": points}
        return ConvergenceJob(
            cell.name,
            {"protocol": digest_of(protocol), **check.parts},
            (*check.needs, check),
            self._order(cell, protocol=protocol),
            threads=self.cores,
            gpus=check.gpus,
            cell=cell,
            document=document,
        )

    @kept
    def cells(self, document: str) -> list[Measurement]:
        """The cells of a document that this run measures."""
        return [
            cell
            for cell in matrix.cells_of(document)
            if not matrix.why_not(cell, document, self.config)
        ]

    def environments(self) -> list[EnvironmentJob]:
        """All environments of a run: those of its cells, and those of the corpus and the report."""
        measured = {cell.environment for cell in matrix.cells(self.config)}
        return [self.environment(name) for name in sorted(measured | {"corpus", "report"})]

    @kept
    def wanted_of(self, cell: Measurement) -> int:
        """How many processes time a cell, before it is judged whether more do: one, where the protocol says so of its row."""
        protocol = self.settings(self.documents[cell])["protocol"]
        return 1 if matrix.is_one_of(protocol["one_process"], cell) else protocol["processes"]

    def processes_of(self, cell: Measurement) -> int:
        """How many of them this run asks for at first."""
        return 1 if self.config["preliminary"] else self.wanted_of(cell)

    def adapts(self, document: str) -> bool:
        """Whether some cells get further processes, once the first ones are judged."""
        asked = self.settings(document)["protocol"]
        more = asked["most_processes"] > asked["processes"] and not self.config["preliminary"]
        return more and asked["processes"] * asked["rounds"] >= matrix.LEAST_PROCESSES

    def most(self, document: str) -> dict[str, int]:
        """How many processes the cells of a document may get, by name, where that is to be judged."""
        if not self.adapts(document):
            return {}
        most = self.settings(document)["protocol"]["most_processes"]
        return dict.fromkeys((cell.name for cell in self.cells(document)), most)

    def timings(self, document: str, counts: dict[str, int] | None = None) -> list[TimeJob]:
        """The timings of a document: of a benchmark, phase and device at a time, the first processes of all rows first;
        `counts`: how many the cells get, by name, where that was judged."""
        counts = counts or {}
        numbered = [
            (process, cell)
            for cell in self.cells(document)
            for process in range(1, counts.get(cell.name, self.processes_of(cell)) + 1)
        ]
        numbered.sort(key=lambda pair: self.turn(*pair))
        return [self.timing(cell, process) for process, cell in numbered]

    def turn(self, process: int, cell: Measurement) -> tuple:
        """What timings are sorted by."""
        return self._places[cell.benchmark], cell.device, cell.phase, process

    def convergences(self, document: str) -> list[ConvergenceJob]:
        return [
            self.convergence(cell)
            for cell in matrix.trained_cells_of(document)
            if not matrix.why_not(cell, document, self.config, trained=True)
        ]

    def reads_corpus(self, document: str) -> bool:
        """Whether cells of a document read the text."""
        return any(self.reads_text(cell.benchmark) for cell in self.cells(document))

    def started_alike(self, check: CheckJob) -> tuple:
        """What a process has to have in common with another one to do a cell's work too: implementation and document; a
        departure, or an instruction set, needs a process that was started in another way, and TensorFlow another one for
        another number of threads. Those that ask for more than there are cores are refused before it starts. What a cell
        of somebody's own loads counts for its own rows only."""
        cell, benchmark = check.cell, self.benchmarks[check.cell.benchmark]
        return (
            *(cell.environment, cell.implementation, check.document),
            benchmark.get("departure") or benchmark.get("isa", "protocol"),
            cell.device,
            min(self.threads_on(cell.benchmark), self.cores),
            own.name_of(benchmark.get("cell", "")),
            check.parts["environment"],  # of which there may be two versions
        )

    def checkings(self, jobs: Iterable[Job]) -> Iterator[CheckingJob]:
        """The processes that make the checks that some timings and training runs want: of one implementation and
        document each."""
        groups: dict[tuple, dict[str, CheckJob]] = defaultdict(dict)
        for check in filter(None, (job.needed(CheckJob) for job in jobs)):
            groups[self.started_alike(check)][check.digest] = check
        for (environment, implementation, document, departure, device, *_), found in groups.items():
            missing = sorted(wanted(found.values()), key=lambda check: check.name)
            for first in range(0, len(missing), CHECKS):
                checks = missing[first : first + CHECKS]
                needs = {need.path: need for check in checks for need in check.needs}
                yield CheckingJob(
                    f"{environment}/{implementation}/{document}-{departure}-{device}",
                    {"checks": digest_of([check.digest for check in checks])},
                    tuple(needs.values()),
                    threads=max(check.threads for check in checks),
                    gpus=max(check.gpus for check in checks),
                    checks=tuple(checks),
                )

    def with_needed(self, clocks: list[Job]) -> list[Job]:
        """Some timings and training runs, and all that has to be done before them."""
        found = {job.path: job for job in [*clocks, *self.checkings(clocks)]}
        queue = list(found.values())
        while queue:
            for need in queue.pop().needs:
                if need.kind != "check" and need.path not in found and not need.done():
                    found[need.path] = need
                    queue.append(need)
        return list(found.values())
