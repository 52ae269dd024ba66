# Kernels: tuned into a database that later runs go on from, then built into a library.


# The database lies beside the output and is none: Snakemake would delete it before a run that tops it up.
rule tune_kernel:
    input:
        inputs,
    output:
        "results/tuning/{kernel}/tuning.{digest}.json",
    log:
        "results/logs/tuning/{kernel}.{digest}.txt",
    conda:
        conda_of
    threads: lambda w: job(w).threads
    resources:
        **RESOURCES,
    params:
        kernel=told,
        why=why,
        python=python_of,
        scripts=scripts,
    message:
        "tune {wildcards.kernel}: {params.why}"
    shell:
        "{params.python:q} {params.scripts:q} tune_kernel --kernel {params.kernel:q}"
        " --parent $PPID --log {log} --output {output} || (tail -5 {log}; exit 1)"


rule build_kernel:
    input:
        inputs,
    output:
        metadata="results/kernels/{kernel}.{digest}/kernel.json",
        library="results/kernels/{kernel}.{digest}/kernel.so",
    log:
        "results/logs/kernels/{kernel}.{digest}.txt",
    priority: 1
    conda:
        conda_of
    threads: lambda w: job(w).threads
    resources:
        **RESOURCES,
    params:
        kernel=told,
        why=why,
        python=python_of,
        scripts=scripts,
    message:
        "build {wildcards.kernel}: {params.why}"
    shell:
        "{params.python:q} {params.scripts:q} build_kernel --kernel {params.kernel:q}"
        " --parent $PPID --log {log} --output {output.metadata} || (tail -5 {log}; exit 1)"
