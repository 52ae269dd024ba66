# What does flexibility cost? See README.md; the matrix of cells is data in config/.
import sys
from pathlib import Path

from snakemake.utils import min_version

min_version("9.0")
if not Path("scripts/steps").is_dir():
    sys.exit(
        "Run Snakemake in the workflow's own folder, without --directory, also where it is a module."
    )


configfile: "config/config.yaml"


report: "report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/environments.smk"
include: "workflow/rules/corpus.smk"
include: "workflow/rules/tuning.smk"
include: "workflow/rules/check.smk"
include: "workflow/rules/timing.smk"
include: "workflow/rules/convergence.smk"
include: "workflow/rules/records.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        "results/cells.csv",
        "results/records.zip",
        "results/report/index.md",
        expand("results/report/{document}.md", document=DOCUMENTS),
        expand("results/report/machines/{machine}/index.md", machine=MACHINES),


onstart:
    have_folder()
    # Snakemake's limit on jobs a second (100) has a price: for each job that has finished, it looks at the ready ones
    # anew every second (9.27). After some hundred jobs that keeps a core busy beside the clock. A cluster keeps its
    # limit: its clocks run on other machines.
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None


include: "workflow/rules/healing.smk"
