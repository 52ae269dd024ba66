# Helpers only: from what rules know, a result's digest, to its job in the plan (scripts/plan/).
import json
import os
import sys
from pathlib import Path

from snakemake.settings.types import DeploymentMethod

sys.path.insert(0, str(Path(workflow.basedir) / "scripts"))
import bytecode  # before all others of ours
from measurement.record import read_json
from plan import configuration, copies, lease, matrix, sources
from plan.jobs import news, set_aside
from plan.planner import Plan
from plan.register import Register, for_rules

# Set in many images; then every process compiles every module it imports: 3 s for TensorFlow.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Jobs are counted on a cluster only (`--jobs`); which executor it is Snakemake says later.
config = configuration.validated(
    config, measures_here=workflow.resource_settings.nodes is None
)
# Which records there are; the cores of a run, which say how many jobs it does at once, decide nothing of that.
SETTINGS = {
    "config": config,
    "conda": DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method,
}
# Before anything is planned: what measures runs from this run's copy of the scripts.
SCRIPTS = copies.take()
# Not `workflow.cores`, which stops `snakemake --report` and `--summary` for want of --cores.
PLAN = Plan(**SETTINGS, cores=workflow.resource_settings.cores or 1)
PLAN.corpus.require_files()
PLAN.corpus.set_aside()
JOBS = Register(PLAN)
DOCUMENTS = config["documents"]
FIRST = "results/documents/{document}/first.json"
PROCESSES = "results/documents/{document}/processes.json"
MANIFEST = f"results/manifests/{{document}}-{PLAN.machine}.json"
for listed in expand([FIRST, PROCESSES, MANIFEST], document=DOCUMENTS):
    set_aside(listed, sealed=False)
tool = JOBS.tool


def have_folder():
    """This folder is this run's alone, before it changes what lies there; a stop with one line where it is another's."""
    executes = workflow.executor_plugin and not workflow.dryrun
    if executes and workflow.is_main_process:
        lease.take()


def counts_of(document):
    """How many processes the cells of a document get: {} where that is not judged. Waits for it where it is; a dry run
    takes it for what all cells get."""
    if not PLAN.adapts(document):
        return {}
    if not Path(PROCESSES.format(document=document)).exists():
        if workflow.dryrun:
            return {}
        listed = Path(MANIFEST.format(document=document))
        if listed.exists() and read_json(str(listed))["config"] != PLAN.config:
            listed.unlink()  # of a first look; see require_text
    return read_json(checkpoints.judge_precision.get(document=document).output[0])


def require_text(document):
    """Which text a document is measured on decides what its records are: it is fetched first. A dry run takes it for
    the one that is wanted."""
    have_folder()
    if PLAN.reads_corpus(document) and not PLAN.corpus.known and not workflow.dryrun:
        # Of what waits for a checkpoint, Snakemake (9.27) sees only whether it is there.
        for listed in (FIRST, MANIFEST):
            Path(listed.format(document=document)).unlink(missing_ok=True)
        checkpoints.fetch_corpus.get(source=PLAN.corpus.source_digest)


def first_records(wildcards):
    """Of the first processes of a document's cells, the records that are not there yet."""
    require_text(wildcards.document)
    return JOBS.listed(FIRST.format(**wildcards), wildcards.document)


def missing_records(wildcards):
    """Likewise, of all its processes and training runs."""
    require_text(wildcards.document)
    counts = counts_of(wildcards.document)
    return JOBS.listed(MANIFEST.format(**wildcards), wildcards.document, counts)


def all_records(wildcards):
    """Of all documents, those of the processes that every cell gets."""
    for document in DOCUMENTS:
        require_text(document)
    return [path for document in DOCUMENTS for path in JOBS.wanted(document, {})]


def job(wildcards):
    return JOBS[wildcards.digest]


# What rules ask of the job that a result's digest names. An answer that takes `input` makes nothing stale.
# A node of a cluster gets its job when what it waits for is there.
inputs = for_rules(lambda w: JOBS.awaited(job(w)) if workflow.is_main_process else [])
told = for_rules(lambda w: json.dumps(job(w).told(), sort_keys=True))
why = for_rules(lambda w, input: news(job(w)))
python_of = for_rules(lambda w, input: JOBS.python(job(w)))
conda_of = for_rules(lambda w: JOBS.conda_file(job(w)))
if not PLAN.conda and "--lint" not in sys.argv:
    conda_of = None  # Snakemake asks for each job even so
# What a job takes beside threads.
RESOURCES = {
    "gpu": for_rules(lambda w: job(w).gpus) if "gpu" in config["devices"] else 0,
}
