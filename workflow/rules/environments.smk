# One environment: built by conda or as a virtual environment from the same file, or the user's own. Its fingerprint,
# part of its name, tells one from another; its input is nothing but the failed attempts of one that is tried again.


rule build_environment:
    input:
        lambda w: JOBS.inputs(JOBS.environment(w.environment, w.fingerprint)),
    output:
        "results/environments/{environment}-{fingerprint,[0-9a-f]{8}}.json",
    log:
        "results/logs/environments/{environment}-{fingerprint}.txt",
    priority: 2  # beside checks, which use one core each
    # Building needs a package index, which a cluster's nodes may not reach.
    localrule: True
    conda:
        lambda w: tool(w.environment, "conda")
    params:
        job=lambda w, input: json.dumps(
            JOBS.environment(w.environment, w.fingerprint).told()
        ),
        # Snakemake's own, also where conda activates another: it has what reads an environment file.
        python=lambda w, input: sys.executable,
    shell:
        "{params.python:q} scripts build_environment --job {params.job:q} --parent $PPID --log {log} --output {output}"


# All of them, where they are built apart from what runs in them: in a container's image, on a login node.
rule build_environments:
    input:
        lambda w: [path for each in PLAN.environments() for path in JOBS.files(each)],
    localrule: True
