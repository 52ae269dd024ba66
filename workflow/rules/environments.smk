# One environment: built by conda or as a virtual environment from the same file, or the user's own.


rule build_environment:
    input:
        script="scripts/build_environment.py",
    output:
        "results/environments/{environment}-{fingerprint,[0-9a-f]{8}}.json",
    log:
        "results/logs/environments/{environment}-{fingerprint}.txt",
    conda:
        lambda w: environment(w.environment)["conda"]
    params:
        has=lambda w, input: environment(w.environment),
        python=lambda w, input: (
            "python" if environment(w.environment)["conda"] else sys.executable
        ),
        interpreter=lambda w, input: (
            f"--interpreter {environment(w.environment)['interpreter']}"
            if environment(w.environment)["interpreter"]
            else ""
        ),
    shell:
        "{params.python} {input.script} --specification {params.has[source]}"
        " --builder {params.has[builder]} --fingerprint {params.has[fingerprint]}"
        " {params.interpreter} --folder {params.has[folder]} --log {log} --output {output}"
