# One environment: built by conda or as a virtual environment from the same file, or the user's own. It has no
# input: its fingerprint, part of its name, tells one from another.


rule build_environment:
    output:
        "results/environments/{environment}-{fingerprint,[0-9a-f]{8}}.json",
    log:
        "results/logs/environments/{environment}-{fingerprint}.txt",
    # Building needs a package index, which a cluster's nodes may not reach.
    localrule: True
    conda:
        lambda w: environment(w.environment)["conda"]
    params:
        failed_attempts=lambda w: count_lines(environment_failures(w)),
        failures=lambda w, input: environment_failures(w),
        has=lambda w, input: environment(w.environment),
        # Snakemake's own, also where conda activates another: it has what reads an environment file.
        python=sys.executable,
        interpreter=lambda w, input: (
            f"--interpreter {environment(w.environment)['interpreter']}"
            if environment(w.environment)["interpreter"]
            else ""
        ),
    shell:
        "{params.python} scripts/build_environment.py --specification {params.has[source]}"
        " --builder {params.has[builder]} --fingerprint {params.has[fingerprint]}"
        " {params.interpreter} --folder {params.has[folder]} --log {log}"
        " --failures {params.failures} --output {output}"
