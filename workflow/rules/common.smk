# Helpers only: from what rules know, a result's digest, to its job in the plan (scripts/plan/).
import json
import os
import shlex
import sys
from functools import cache
from pathlib import Path

from snakemake.settings.types import DeploymentMethod

# Not workflow.basedir: as a module it is where the other Snakefile lies.
sys.path.insert(0, os.path.abspath("scripts"))
import bytecode  # before all others of ours
from measurement.record import read_json, refused
from plan import configuration, copies, files, lease, listing, matrix, memory, sources
from plan.jobs import news
from plan.planner import Plan
from plan.register import Register, for_rules
from plan.text import require_fitting

# Set in many images; then every process compiles every module it imports: 3 s for TensorFlow.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# All files are UTF-8, whatever the locale.
os.environ.update(PYTHONUTF8="1")

# Jobs are counted on a cluster only (`--jobs`); which executor it is Snakemake says later.
MEASURES_HERE = workflow.resource_settings.nodes is None
config = configuration.validated(config, measures_here=MEASURES_HERE)
CONDA = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
# Snakemake (9.27) writes there also to plan only.
if not os.access(".snakemake" if os.path.exists(".snakemake") else ".", os.W_OK):
    sys.exit(refused("cannot write .snakemake"))
if workflow.is_main_process and not workflow.output_settings.dryrun:
    files.bring_to_now("results")
# Before anything is planned: what measures runs from this run's copy of the scripts.
SCRIPTS = copies.take(workflow.output_settings.dryrun)
# Not `workflow.cores`, which stops `snakemake --report` and `--summary` for want of --cores.
PLAN = Plan(config, CONDA, workflow.resource_settings.cores or 1)


@cache
def check_text(known):
    """Once as planning begins, and once more when the text is known."""
    require_fitting(PLAN)


check_text(PLAN.corpus.known)
BESIDE = [Plan(config, CONDA, PLAN.cores, instead=files) for files in config["beside"]]
DOCUMENTS = config["documents"]
OF_DOCUMENT = "results/documents/{document}/"
FIRST = f"{OF_DOCUMENT}first.json"
PROCESSES = f"{OF_DOCUMENT}processes.json"
MANIFEST = listing.path_of(PLAN, "{document}")


def stamp(wildcards, input, output):
    """What a step of the report begins with: its files get a stamp (scripts/plan/stamps.py)."""
    command = [tool("report", "python"), "scripts", "stamped", "--outputs", *output]
    return shlex.join([*map(str, command), "--inputs", *input, "--"])


def anew(*paths):
    """Have files made that are there: damaged, or a list that says what is not so any more."""
    workflow.dag.forcefiles.update(paths)


@cache
def have_folder():
    """This folder is this run's alone, before it changes what lies there; a stop with one line where it is another's."""
    if workflow.is_main_process and not changes_nothing():
        if lease.take() and workflow.local_exec:  # nodes have folders of their own
            lease.use_temporary()


def changes_nothing():
    """Whether files stay as they are: in a dry run, and where Snakemake only tells something (--summary)."""
    return workflow.executor_plugin is None or workflow.dryrun


JOBS = Register(PLAN, anew, changes_nothing, BESIDE, kept=ancient)
tool = JOBS.tool


def counts_of(document):
    """How many processes the cells of a document get: {} where that is not judged. Waits for it where it is; a dry run
    takes it for what all cells get."""
    if not PLAN.adapts(document):
        return {}
    if workflow.dryrun and not Path(PROCESSES.format(document=document)).exists():
        return {}
    return read_json(checkpoints.judge_precision.get(document=document).output[0])


def require_text(document):
    """Which text a document is measured on decides what its records are: it is fetched first. A dry run takes it for
    the one that is wanted."""
    have_folder()
    if not PLAN.reads_corpus(document):
        return
    PLAN.corpus.set_aside(changes_nothing())
    if not PLAN.corpus.known and not workflow.dryrun:
        anew(*(listed.format(document=document) for listed in (FIRST, MANIFEST)))
        checkpoints.fetch_corpus.get(source=PLAN.corpus.source_digest)
    check_text(PLAN.corpus.known)


def first_records(wildcards):
    """The records of the first processes of a document's cells."""
    require_text(wildcards.document)
    path, serves = FIRST.format(**wildcards), PROCESSES.format(**wildcards)
    return JOBS.listed(path, serves, wildcards.document)


def missing_records(wildcards):
    """Likewise, of all its processes and training runs."""
    require_text(wildcards.document)
    counts = counts_of(wildcards.document)
    path, serves = MANIFEST.format(**wildcards), f"{OF_DOCUMENT}cells.parquet"
    return JOBS.listed(path, serves.format(**wildcards), wildcards.document, counts)


def all_records(wildcards):
    """Of all documents, those of the processes that every cell gets."""
    for document in DOCUMENTS:
        require_text(document)
    return [path for document in DOCUMENTS for path in JOBS.asked(document, {})]


def job(wildcards):
    return JOBS[wildcards.digest]


def text(wildcards):
    """The text that was fetched; nothing where it is gone and its tokens are there."""
    source = PLAN.corpus.source
    if Path(source).exists():
        return ancient(source)
    return [] if PLAN.corpus_job().done() else source


def text_tools(done):
    """The environment in which texts are fetched and tokenized; it is not built again for what is done."""
    built = PLAN.environment("corpus").done()
    return [] if done and not built else tool("corpus", "record")


def turns(wildcards):
    """The group of those that take turns: of one benchmark, phase and device; ten of them to a node, unless
    --group-components says otherwise. Not in the profile, as SLURM's plugin tells a node nothing of that.
    """
    components = {"turns": memory.MOST_SEATS} | dict(
        workflow.group_settings.group_components
    )
    if components["turns"] == 1:
        return None
    workflow.group_settings.group_components = components
    name = "turns-{0.benchmark}-{0.phase}-{0.device}".format(job(wildcards).cell)
    workflow.parent_groupids[name] = "turns"
    return name


# What rules ask of the job that a result's digest names. An answer that takes `input` makes nothing stale.
# A node of a cluster gets its job when what it waits for is there.
inputs = for_rules(lambda w: JOBS.inputs(job(w)) if workflow.is_main_process else [])
told = for_rules(lambda w, input: json.dumps(job(w).told(), sort_keys=True))
why = for_rules(lambda w, input: news(job(w)))
python_of = for_rules(lambda w, input: JOBS.python(job(w)))
scripts = for_rules(lambda w, input: SCRIPTS)  # this run's copy
conda_of = for_rules(lambda w: JOBS.conda_file(job(w)))
if not PLAN.conda and "--lint" not in sys.argv:
    conda_of = None  # Snakemake asks for each job even so
if MEASURES_HERE:  # unless --resources says otherwise
    for name, amount in memory.limits().items():
        if name not in workflow.global_resources:
            workflow.register_resource(name, amount)
# What a job takes beside threads.
RESOURCES = {
    "gpu": for_rules(lambda w: job(w).gpus) if "gpu" in config["devices"] else 0,
}


def of_machine(pattern):
    """A pattern's files for the documents that another machine has (MACHINES of report.smk)."""
    return lambda w: expand(pattern, document=MACHINES[w.machine], allow_missing=True)
