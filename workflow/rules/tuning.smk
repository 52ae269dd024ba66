# Kernels: tuned into a database that later runs go on from, then built into a library.


rule tune_kernel:
    input:
        matrix.sources("scripts/tune_kernel.py"),
        environment=lambda w: environment_record(w.environment),
    output:
        "results/kernels/{environment}/{benchmark}/{variant}/tuning.json",
    log:
        "results/logs/kernels/{environment}/{benchmark}/{variant}/tuning.txt",
    wildcard_constraints:
        variant="|".join(TUNED),
    conda:
        lambda w: environment(w.environment)["conda"]
    threads: ALL_CORES
    params:
        kernel=kernel_job,
        # No output: Snakemake would delete it before a run that tops it up.
        database=lambda w, output: str(Path(output[0]).parent / "database"),
        python=lambda w, input: python(w.environment),
    shell:
        "{params.python} scripts/tune_kernel.py --kernel {params.kernel:q}"
        " --database {params.database} --output {output} > {log} 2>&1 || (tail -5 {log}; exit 1)"


rule build_kernel:
    input:
        matrix.sources("scripts/build_kernel.py"),
        environment=lambda w: environment_record(w.environment),
        tuning=lambda w: (
            [f"results/kernels/{w.environment}/{w.benchmark}/{w.variant}/tuning.json"]
            if w.variant in TUNED
            else []
        ),
    output:
        "results/kernels/{environment}/{benchmark}/{variant}/kernel.json",
    log:
        "results/logs/kernels/{environment}/{benchmark}/{variant}/build.txt",
    conda:
        lambda w: environment(w.environment)["conda"]
    threads: ALL_CORES
    params:
        kernel=kernel_job,
        database=lambda w, output: str(Path(output[0]).parent / "database"),
        tuning=lambda w, input: f"--tuning {input.tuning}" if input.tuning else "",
        python=lambda w, input: python(w.environment),
    shell:
        "{params.python} scripts/build_kernel.py --kernel {params.kernel:q}"
        " --database {params.database} {params.tuning} --output {output}"
        " > {log} 2>&1 || (tail -5 {log}; exit 1)"
