# The clock: one fresh process of one cell a job.


rule time_cell:
    input:
        measuring_files,
        environment=lambda w: environment_record(w.environment),
        corpus=CORPUS,
        check="results/checks/{environment}/{benchmark}/{framework}/{style}/{phase}-{device}.json",
    output:
        "results/records/{environment}/{benchmark}/{framework}/{style}/{phase}-{device}-{process}.json",
    log:
        "results/logs/records/{environment}/{benchmark}/{framework}/{style}/{phase}-{device}-{process}.txt",
    conda:
        lambda w: environment(w.environment)["conda"]
    # All cores of the run: no other local job runs beside a clock, with no flag needed.
    threads: ALL_CORES
    params:
        job=lambda w: job("time", w),
        failed_attempts=lambda w: failed_attempts("time", w),
        failures=lambda w, input: failures_file("time", w),
        python=lambda w, input: python(w.environment),
    shell:
        "{params.python} scripts/measure_cell.py --job {params.job:q}"
        " --environment {input.environment} --corpus {input.corpus} --check {input.check}"
        " --failures {params.failures} --log {log} --output {output}"
