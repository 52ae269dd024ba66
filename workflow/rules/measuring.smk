# What measures a cell, a process a job.


# The gate: every implementation against the float64 reference before anything is timed. Of one implementation and
# document in one process. Each check leaves a record of its own in results/checks/, which tells whether it was made;
# the output lists them.
rule check_implementation:
    input:
        inputs,
    output:
        "results/checked/{implementation}.{digest}.json",
    log:
        "results/logs/checks/{implementation}.{digest}.txt",
    priority: 1  # several at a time, before the clocks, which take all cores
    conda:
        conda_of
    threads: lambda w: job(w).threads
    resources:
        **RESOURCES,
    params:
        job=told,
        why=why,
        python=python_of,
        scripts=scripts,
    message:
        "check {wildcards.implementation}: {params.why}"
    shell:
        "{params.python:q} {params.scripts:q} measure_cell --job {params.job:q} --parent $PPID --log {log} --output {output}"


# The clock. Several processes live at once and take turns (scripts/measurement/rounds.py), so they take no threads: the
# machine's clock is one process's at a time. How many there are, seats and memory say. On a cluster those that are
# compared with each other go to one node as a group, within which Snakemake (9.27) runs them as it does here.
use rule check_implementation as time_cell with:
    output:
        "results/records/{cell}.{digest}.json",
    log:
        "results/logs/records/{cell}.{digest}.txt",
    priority: for_rules(lambda w: -JOBS.place(job(w)))
    group:
        None if MEASURES_HERE else for_rules(turns)
    threads: 0 if MEASURES_HERE else PLAN.cores
    resources:
        **RESOURCES,
        seats=1,
        living_mb=for_rules(
            lambda w: memory.megabytes(job(w).cell.name) if MEASURES_HERE else 0
        ),
    message:
        "time {wildcards.cell}: {params.why}"


# From the same seed, with perplexity on the way. Killed half way, it goes on from its checkpoint when it is run again.
use rule check_implementation as train_implementation with:
    output:
        "results/convergence/{cell}.{digest}.json",
    log:
        "results/logs/convergence/{cell}.{digest}.txt",
    priority: for_rules(lambda w: -JOBS.place(job(w)))  # after what is timed
    message:
        "train {wildcards.cell}: {params.why}"
