# The clock: a process of one cell a job. Several live at once and take turns (scripts/measurement/rounds.py), so they take no
# threads: the machine's clock is one process's at a time. How many there are, seats and memory say. On a cluster those that
# are compared with each other go to one node as a group, within which Snakemake (9.27) runs them as it does here.


rule time_cell:
    input:
        inputs,
    output:
        "results/records/{cell}.{digest}.json",
    log:
        "results/logs/records/{cell}.{digest}.txt",
    priority: for_rules(lambda w: -JOBS.place(job(w)))
    group:
        None if MEASURES_HERE else for_rules(turns)
    conda:
        conda_of
    threads: 0 if MEASURES_HERE else PLAN.cores
    resources:
        **RESOURCES,
        seats=1,
        living_mb=for_rules(lambda w: JOBS.memory_mb(job(w)) if MEASURES_HERE else 0),
    params:
        job=told,
        why=why,
        python=python_of,
        scripts=scripts,
    message:
        "time {wildcards.cell}: {params.why}"
    shell:
        "{params.python:q} {params.scripts:q} measure_cell --job {params.job:q} --parent $PPID --log {log} --output {output}"
