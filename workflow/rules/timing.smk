# The clock: one fresh process of one cell a job. It takes all cores of the run, so no other local job runs beside it.


rule time_cell:
    input:
        inputs,
    output:
        "results/records/{cell}.{digest}.json",
    log:
        "results/logs/records/{cell}.{digest}.txt",
    conda:
        conda_of
    threads: PLAN.cores
    resources:
        **RESOURCES,
    params:
        job=told,
        why=why,
        python=python_of,
        scripts=scripts,
    message:
        "time {wildcards.cell}: {params.why}"
    shell:
        "{params.python:q} {params.scripts:q} measure_cell --job {params.job:q} --parent $PPID --log {log} --output {output}"
