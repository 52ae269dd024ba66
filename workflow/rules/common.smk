# Helpers only: what the config means on this machine. Rules are in the other files.
import csv
import gc
import json
import sys
from collections import Counter
from dataclasses import asdict
from functools import cache
from pathlib import Path

from snakemake.settings.types import DeploymentMethod

# A plan is some hundred objects a job, which all stay: looking for garbage among them took a tenth of its time.
gc.set_threshold(100_000, 50, 50)

sys.path.insert(0, str(Path(workflow.basedir) / "scripts"))
import environments
import matrix
import settings
from kernels.workload import spec_of
from measurement.record import read_json
from measurement.workload import Workload
from reporting import results

# Jobs are counted on a cluster only (`--jobs`); which executor it is Snakemake says later.
config = settings.validated(
    config, measures_here=workflow.resource_settings.nodes is None
)
results.require_readable(config["also_report"])
DEVICES = config["devices"]
CELLS = matrix.cells(config)
TRAINED = matrix.trained_cells(config)
BENCHMARKS = matrix.benchmarks(config["documents"])
FIRST_RECORDS = [
    cell.record(process)
    for cell, document in CELLS.items()
    for process in matrix.processes(config, document)
]
# How many processes noisy cells get, once it is known. Without a target no checkpoint stands in the way.
PROCESSES = (
    ["results/processes.json"]
    if any(matrix.adapts(config, document) for document in config["documents"])
    else []
)
CONDA = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
THREADS = config["protocol"]["threads"] or settings.usable_cores()
# Not `workflow.cores`, which stops `snakemake --report` and `--summary` for want of --cores.
ALL_CORES = workflow.resource_settings.cores or 1
CORPUS = "results/corpus/corpus.json"
MEASURE = "scripts/measure_cell.py"


@cache
@settings.stops_with_a_line
def environment(name):
    """How an environment is had here: its file, builder, base interpreter and fingerprint."""
    source = f"envs/{name}.yaml"
    if "gpu" in DEVICES and Path(f"envs/{name}-cuda.yaml").exists():
        source = f"envs/{name}-cuda.yaml"
    specification = environments.load(source)
    named = config["interpreters"].get(name)
    builder = "interpreter" if named else "conda" if CONDA else "venv"
    found = (
        None if named or CONDA else environments.find_interpreter(specification.python)
    )
    # Where conda builds, a job finds the interpreter of its activated environment on PATH.
    interpreter = named or ("python" if CONDA else found and found[0])
    mark = environments.fingerprint(specification, builder, interpreter)
    return {
        "source": source,
        "builder": builder,
        "interpreter": interpreter,
        "fingerprint": mark,
        "record": f"results/environments/{name}-{mark}.json",
        "folder": f"{config['environment_folder']}/{name}-{mark}",
        "conda": (
            environments.conda_file(specification, source, "results/environments", mark)
            if builder == "conda"
            else None
        ),
    }


def environment_record(name):
    """The record whose name carries the fingerprint: another version is another input of its cells."""
    return environment(name)["record"]


def python(name):
    """The interpreter that runs an environment's jobs. Where there is none, Snakemake's own records why."""
    has = environment(name)
    if has["builder"] != "venv":
        return has["interpreter"]
    return f"{has['folder']}/bin/python" if has["interpreter"] else sys.executable


def cell_of(wildcards):
    return matrix.Cell(
        wildcards.benchmark,
        f"{wildcards.framework}/{wildcards.style}",
        wildcards.environment,
        wildcards.phase,
        wildcards.device,
    )


def job(kind, wildcards):
    """What a cell's job has to do. A change in here makes the cell stale."""
    cell = cell_of(wildcards)
    identity = {
        name: getattr(cell, name)
        for name in ("benchmark", "implementation", "environment", "phase", "device")
    }
    if kind == "time":
        identity["process"] = int(wildcards.process)
    document = (CELLS | TRAINED)[cell]
    how = matrix.protocol_of(config, document)
    for key in ("processes", "target_interval", "most_processes"):
        del how["protocol"][key]  # one more process makes no other one stale
    return json.dumps(
        {
            "kind": kind,
            "identity": identity,
            "failed_attempts": count_lines(failures_file(kind, wildcards)),
            "benchmark": BENCHMARKS[cell.benchmark],
            "threads": how["protocol"]["threads"],
            "timeout_s": how["protocol"]["timeout_s"],
            "seed": how["protocol"]["seed"],
            "workers": matrix.workers(cell.implementation),
            **{
                "check": lambda: {"check": matrix.check_of(config, document, cell)},
                "time": lambda: {"protocol": how["protocol"]},
                "train": lambda: {"protocol": training_run(document)},
            }[kind](),
        },
        sort_keys=True,
    )


def training_run(document):
    """How long a document's training runs are, and where they compute perplexity."""
    how = matrix.protocol_of(config, document)["training"]
    points = [
        point["batch"] for point in matrix.document(document)["training"]["points"]
    ]
    lengths = {key: how[key] for key in ("batches", "checkpoint_batches")}
    return lengths | {"points": points}


def checkpoint_of(wildcards):
    """The file that an interrupted training run goes on from. It is no output: Snakemake deletes those of a job that
    does not end well."""
    return str(Path(cell_of(wildcards).training_record).with_suffix(".npz"))


def all_records(wildcards):
    """The records of all processes of all cells. Before the precision of the first ones is judged, Snakemake
    takes the checkpoint's output for them and asks again."""
    if not PROCESSES:
        return FIRST_RECORDS
    counts = read_json(checkpoints.judge_precision.get().output[0])
    return [
        cell.record(process)
        for cell, document in CELLS.items()
        for process in matrix.processes(config, document, counts.get(cell.name))
    ]


def check_threads(wildcards):
    """Two checks of bare layers at a time, as starting a framework keeps one core busy at most; a language
    model's takes all."""
    return THREADS if corpus_of(wildcards) else max(1, THREADS // 2)


def kernel_of(wildcards):
    """The kernel that has to be built before a cell can run: its kernel.json and library, or nothing."""
    cell = cell_of(wildcards)
    variant = matrix.implementation(cell.implementation).get("kernel")
    folder = f"results/kernels/{cell.environment}/{cell.benchmark}/{variant}"
    return [f"{folder}/kernel.json", f"{folder}/kernel.so"] if variant else []


def gpus_of_kernel(wildcards):
    """How many GPUs building a kernel takes: one, to ask for its architecture, if the kernel is for GPUs only."""
    variant = wildcards.variant
    users = [e for e in matrix.implementations() if e.get("kernel") == variant]
    return int(all(entry.get("devices") == ["gpu"] for entry in users))


def corpus_of(wildcards):
    """The tokens that a cell reads, as [path]: a language model's only."""
    return [CORPUS] if "vocabulary" in BENCHMARKS[wildcards.benchmark] else []


def cell_inputs(wildcards):
    """What a check and a timing read. It is one function, as Snakemake takes its time for each."""
    kernel = kernel_of(wildcards)
    return {
        "environment": environment_record(wildcards.environment),
        "corpus": corpus_of(wildcards),
        "kernel": kernel[:1],
        "library": kernel[1:],
    }


def option(name, files):
    """`--name <first file>`, or nothing where there is none."""
    return f"--{name} {files[0]}" if files else ""


@cache
def tuned_shape(benchmark):
    """The shape whose tuning serves a benchmark: one for all lengths and depths."""
    return spec_of(Workload(BENCHMARKS[benchmark], None, seed=0, threads=THREADS)).tuned


def tuning_of(wildcards):
    """What a kernel's tuning left, as [path]; [] for kernels without tuning."""
    if wildcards.variant not in config["kernels"]["trials"]:
        return []
    kernel = tuned_shape(wildcards.benchmark).name
    return [
        f"results/tuning/{wildcards.environment}/{wildcards.variant}/{kernel}/tuning.json"
    ]


def tuning_job(wildcards):
    """What tuning has to do. A change in here makes it stale; more trials go on from the database."""
    shapes = map(tuned_shape, BENCHMARKS)
    shape = next(shape for shape in shapes if shape.name == wildcards.kernel)
    return json.dumps(
        {
            "shape": asdict(shape),
            "variant": wildcards.variant,
            "trials": config["kernels"]["trials"][wildcards.variant],
        },
        sort_keys=True,
    )


def kernel_job(wildcards):
    """What building has to do. A change in here makes the kernel stale."""
    return json.dumps(
        {
            "benchmark": BENCHMARKS[wildcards.benchmark],
            "variant": wildcards.variant,
            "threads": config["protocol"]["threads"],
            "build_limit_s": config["kernels"]["build_limit_s"],
        },
        sort_keys=True,
    )


def measuring_files(wildcards):
    """The files that decide what a cell computes and how it is measured."""
    implementation = f"{wildcards.framework}/{wildcards.style}"
    return matrix.sources(
        MEASURE,
        "scripts/measurement/worker.py",
        matrix.implementation_file(implementation),
    )


def failures_file(kind, wildcards):
    """Where the failed attempts of a job are kept; no run overwrites it."""
    process = getattr(wildcards, "process", 0)
    return f"results/failures/{kind}/{cell_of(wildcards).name}-{process}.jsonl"


def environment_failures(wildcards):
    name = f"{wildcards.environment}-{wildcards.fingerprint}"
    return f"results/failures/environments/{name}.jsonl"


def gpus_of(wildcards):
    """How many GPUs a cell takes."""
    return int(wildcards.device == "gpu") * matrix.workers(
        cell_of(wildcards).implementation
    )


def count_lines(path):
    """Failed attempts so far. In a `params:` value it makes a failed job, and no other, run again:
    the number is the one of its last run unless that run failed too."""
    return len(Path(path).read_text().splitlines()) if Path(path).exists() else 0


def short_title(document):
    """A document's title up to its colon, which a link of Snakemake's report cannot have."""
    return matrix.document(document)["title"].split(":")[0]


def quiet_scheduler():
    """Take away Snakemake's limit on jobs a second (100), which has a price: for each job that has finished, it
    looks at the ready ones anew every second (9.27). After some hundred jobs that keeps a core busy beside
    the clock. A cluster keeps its limit: its clocks run on other machines.
    """
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None


def closing_message():
    """What a finished run leaves: the pages, and how many rows have a number."""
    if not Path("results/cells.csv").exists():  # the run was for other targets
        return ""
    others = {
        each["machine"] for each in read_json("results/context.json")["also_reported"]
    }
    with open("results/cells.csv") as table:
        rows = [
            row
            for row in csv.DictReader(table)
            if row["device"] in DEVICES and row["machine"] not in others
        ]
    counts = Counter(row["status"] for row in rows)
    pages = ["index", *config["documents"]]
    return "\n".join(
        [
            "",
            "Cells: "
            + ", ".join(f"{number} {status}" for status, number in counts.items()),
            "Rendered:",
            *(f"  results/report/{page}.md and .html" for page in pages),
            "All numbers: results/cells.csv",
        ]
    )
