# The gate: every implementation against the float64 reference before anything is timed.


# Of one implementation and document in one process. Each check leaves a record of its own in results/checks/, which
# tells whether it was made; the output lists them. Timing and training are this rule with other outputs and resources.
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
