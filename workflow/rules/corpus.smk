# Penn Treebank: fetched, then tokenized.


rule fetch_corpus:
    input:
        "scripts/stand_in.py",
        environment=environment_record("report"),
        script="scripts/fetch_corpus.py",
    output:
        "results/corpus/source.json",
    params:
        corpus=lambda w: json.dumps(
            {key: value for key, value in config["corpus"].items() if key != "stride"}
        ),
        python=lambda w, input: python("report"),
    conda:
        environment("report")["conda"] or None
    shell:
        "{params.python} {input.script} --corpus {params.corpus:q} --output {output}"


rule tokenize_corpus:
    input:
        source="results/corpus/source.json",
        environment=environment_record("report"),
        script="scripts/tokenize_corpus.py",
    output:
        CORPUS,
    params:
        stride=config["corpus"]["stride"],
        python=lambda w, input: python("report"),
    conda:
        environment("report")["conda"] or None
    shell:
        "{params.python} {input.script} --source {input.source} --stride {params.stride}"
        " --output {output}"
