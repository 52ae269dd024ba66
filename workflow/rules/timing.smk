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
