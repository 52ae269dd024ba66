# Training runs: each implementation from the same seed, with its perplexity on the way. Killed half way, one goes on
# from its checkpoint when it is run again.


use rule check_implementation as train_implementation with:
    output:
        "results/convergence/{cell}.{digest}.json",
    log:
        "results/logs/convergence/{cell}.{digest}.txt",
    priority: for_rules(lambda w: -JOBS.place(job(w)))  # after what is timed
    message:
        "train {wildcards.cell}: {params.why}"
