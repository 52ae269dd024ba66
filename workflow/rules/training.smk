# Training runs: each implementation from the same seed, with its perplexity on the way.


# Killed half way, it goes on from its checkpoint when the job is run again.
rule train_implementation:
    input:
        # What it runs reaches it through its check.
        environment=lambda w: environment_record(w.environment),
        corpus=CORPUS,
        check="results/checks/{environment}/{benchmark}/{framework}/{style}/{phase}-{device}.json",
    output:
        "results/training/{environment}/{benchmark}/{framework}/{style}/{phase}-{device}.json",
    log:
        "results/logs/training/{environment}/{benchmark}/{framework}/{style}/{phase}-{device}.txt",
    conda:
        lambda w: environment(w.environment)["conda"]
    threads: ALL_CORES
    resources:
        gpu=gpus_of,
    params:
        job=lambda w: job("train", w),
        failures=lambda w, input: failures_file("train", w),
        checkpoint=lambda w, input: checkpoint_of(w),
        python=lambda w, input: python(w.environment),
    shell:
        "{params.python} scripts/measure_cell.py --job {params.job:q}"
        " --environment {input.environment} --corpus {input.corpus} --check {input.check}"
        " --checkpoint {params.checkpoint} --failures {params.failures} --log {log} --output {output}"
