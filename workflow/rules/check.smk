# The gate: every implementation against the float64 reference before anything is timed.


# An implementation's some twenty files as one: Snakemake looks at every input of every job.
rule note_sources:
    input:
        measuring_files,
    output:
        "results/sources/{framework}/{style}.txt",
    log:
        "results/logs/sources/{framework}/{style}.txt",
    localrule: True
    conda:
        lambda w: environment("report")["conda"]
    shell:
        "cksum {input} > {output} 2> {log}"


rule check_implementation:
    input:
        unpack(cell_inputs),
        sources="results/sources/{framework}/{style}.txt",
    output:
        "results/checks/{environment}/{benchmark}/{framework}/{style}/{phase}-{device}.json",
    log:
        "results/logs/checks/{environment}/{benchmark}/{framework}/{style}/{phase}-{device}.txt",
    conda:
        lambda w: environment(w.environment)["conda"]
    threads: check_threads
    resources:
        gpu=gpus_of,
    params:
        job=lambda w: job("check", w),
        failures=lambda w, input: failures_file("check", w),
        python=lambda w, input: python(w.environment),
    shell:
        "{params.python} scripts/measure_cell.py --job {params.job:q}"
        " --environment {input.environment} --corpus '{input.corpus}' --kernel '{input.kernel}'"
        " --failures {params.failures} --log {log} --output {output}"
