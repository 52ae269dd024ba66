# The clock: one fresh process of one cell a job.


rule time_cell:
    input:
        # What it runs reaches it through its check.
        unpack(cell_inputs),
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
        gpu=gpus_of,
    params:
        job=lambda w: job("time", w),
        failures=lambda w, input: failures_file("time", w),
        python=lambda w, input: python(w.environment),
    shell:
        "{params.python} scripts/measure_cell.py --job {params.job:q}"
        " --environment {input.environment} --corpus '{input.corpus}' --kernel '{input.kernel}'"
        " --check {input.check} --failures {params.failures} --log {log} --output {output}"
