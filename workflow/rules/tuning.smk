# Kernels: tuned into a database that later runs go on from, then built into a library.


# The database lies beside tuning.json and is no output: Snakemake would delete it before a run that tops it up.
rule tune_kernel:
    input:
        matrix.sources("scripts/tune_kernel.py"),
        environment=lambda w: environment_record(w.environment),
    output:
        "results/tuning/{environment}/{variant}/{kernel}/tuning.json",
    log:
        "results/logs/tuning/{environment}/{variant}/{kernel}.txt",
    conda:
        lambda w: environment(w.environment)["conda"]
    threads: ALL_CORES
    params:
        kernel=tuning_job,
        python=lambda w, input: python(w.environment),
    shell:
        "{params.python} scripts/tune_kernel.py --kernel {params.kernel:q}"
        " --log {log} --output {output} || (tail -5 {log}; exit 1)"


rule build_kernel:
    input:
        matrix.sources("scripts/build_kernel.py"),
        environment=lambda w: environment_record(w.environment),
        tuning=tuning_of,
    output:
        metadata="results/kernels/{environment}/{benchmark}/{variant}/kernel.json",
        library="results/kernels/{environment}/{benchmark}/{variant}/kernel.so",
    log:
        "results/logs/kernels/{environment}/{benchmark}/{variant}.txt",
    conda:
        lambda w: environment(w.environment)["conda"]
    threads: max(1, ALL_CORES // 2)
    resources:
        gpu=gpus_of_kernel,
    params:
        kernel=kernel_job,
        tuning=lambda w, input: option("tuning", input.tuning),
        python=lambda w, input: python(w.environment),
    shell:
        "{params.python} scripts/build_kernel.py --kernel {params.kernel:q}"
        " {params.tuning} --log {log} --output {output.metadata} || (tail -5 {log}; exit 1)"
