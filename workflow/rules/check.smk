# The gate: every implementation against the float64 reference before anything is timed.


rule check_implementation:
    input:
        measuring_files,
        environment=lambda w: environment_record(w.environment),
        corpus=CORPUS,
    output:
        "results/checks/{environment}/{benchmark}/{framework}/{style}/{phase}-{device}.json",
    log:
        "results/logs/checks/{environment}/{benchmark}/{framework}/{style}/{phase}-{device}.txt",
    conda:
        lambda w: environment(w.environment)["conda"]
    threads: THREADS
    params:
        job=lambda w: job("check", w),
        failed_attempts=lambda w: failed_attempts("check", w),
        failures=lambda w, input: failures_file("check", w),
        python=lambda w, input: python(w.environment),
    shell:
        "{params.python} scripts/measure_cell.py --job {params.job:q}"
        " --environment {input.environment} --corpus {input.corpus}"
        " --failures {params.failures} --log {log} --output {output}"
