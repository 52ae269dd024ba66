# The gate: every implementation against the float64 reference before anything is timed.


rule check_implementation:
    input:
        measuring_files,
        environment=lambda w: environment_record(w.environment),
        corpus=corpus_of,
        kernel=kernel_of,
    output:
        "results/checks/{environment}/{benchmark}/{framework}/{style}/{phase}-{device}.json",
    log:
        "results/logs/checks/{environment}/{benchmark}/{framework}/{style}/{phase}-{device}.txt",
    conda:
        lambda w: environment(w.environment)["conda"]
    threads: check_threads
    resources:
        gpu=lambda w: int(w.device == "gpu"),
    params:
        job=lambda w: job("check", w),
        failed_attempts=lambda w: count_lines(failures_file("check", w)),
        failures=lambda w, input: failures_file("check", w),
        corpus=lambda w, input: option("corpus", input.corpus),
        kernel=lambda w, input: option("kernel", input.kernel),
        python=lambda w, input: python(w.environment),
    shell:
        "{params.python} scripts/measure_cell.py --job {params.job:q}"
        " --environment {input.environment} {params.corpus}"
        " {params.kernel} --failures {params.failures} --log {log} --output {output}"
