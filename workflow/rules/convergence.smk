# Training runs: each implementation from the same seed, with its perplexity on the way.


# Killed half way, it goes on from its checkpoint when the job is run again.
rule train_implementation:
    input:
        inputs,
    output:
        "results/convergence/{cell}.{digest}.json",
    log:
        "results/logs/convergence/{cell}.{digest}.txt",
    priority: for_rules(lambda w: -JOBS.place(job(w)))  # after what is timed
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
        "train {wildcards.cell}: {params.why}"
    shell:
        "{params.python:q} {params.scripts:q} measure_cell --job {params.job:q} --parent $PPID --log {log} --output {output}"
