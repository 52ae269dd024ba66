# Penn Treebank: fetched, then tokenized.


rule fetch_corpus:
    input:
        "scripts/stand_in.py",
        environment=environment_record("corpus"),
        script="scripts/fetch_corpus.py",
    output:
        "results/corpus/source.json",
    log:
        "results/logs/fetch_corpus.txt",
    localrule: True
    conda:
        lambda w: environment("corpus")["conda"]
    params:
        # What decides which text it is; mirrors, which only decide whence, are no reason to run again.
        corpus=lambda w: json.dumps(
            {key: config["corpus"][key] for key in ("path", "sha256", "stand_in")}
        ),
        mirrors=lambda w, input: json.dumps(config["corpus"]["mirrors"]),
        python=lambda w, input: python("corpus"),
    shell:
        "{params.python} {input.script} --corpus {params.corpus:q}"
        " --mirrors {params.mirrors:q} --output {output}"
        " 2>&1 | tee {log}"


rule tokenize_corpus:
    input:
        source="results/corpus/source.json",
        environment=environment_record("corpus"),
        script="scripts/tokenize_corpus.py",
    output:
        CORPUS,
    log:
        "results/logs/tokenize_corpus.txt",
    localrule: True
    conda:
        lambda w: environment("corpus")["conda"]
    params:
        stride=config["corpus"]["stride"],
        python=lambda w, input: python("corpus"),
    shell:
        "{params.python} {input.script} --source {input.source} --stride {params.stride}"
        " --output {output}"
        " 2>&1 | tee {log}"
