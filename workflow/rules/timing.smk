# The clock: one fresh process of one cell a job.


rule time_cell:
    input:
        measuring_files,
        environment=lambda w: environment_record(w.environment),
        corpus=corpus_of,
        kernel=kernel_of,
        check="results/checks/{environment}/{benchmark}/{framework}/{style}/{phase}-{device}.json",
    output:
        "results/records/{environment}/{benchmark}/{framework}/{style}/{phase}-{device}-{process}.json",
    log:
        "results/logs/records/{environment}/{benchmark}/{framework}/{style}/{phase}-{device}-{process}.txt",
    conda:
        lambda w: environment(w.environment)["conda"]
    # All cores of the run: no other local job runs beside a clock, with no flag needed.
    threads: ALL_CORES
    resources:
        gpu=lambda w: int(w.device == "gpu"),
    params:
        job=lambda w: job("time", w),
        failed_attempts=lambda w: count_lines(failures_file("time", w)),
        failures=lambda w, input: failures_file("time", w),
        corpus=lambda w, input: option("corpus", input.corpus),
        kernel=lambda w, input: option("kernel", input.kernel),
        python=lambda w, input: python(w.environment),
    shell:
        "{params.python} scripts/measure_cell.py --job {params.job:q}"
        " --environment {input.environment} {params.corpus} --check {input.check}"
        " {params.kernel} --failures {params.failures} --log {log} --output {output}"
