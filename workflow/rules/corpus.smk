# Penn Treebank: fetched, then tokenized.


rule fetch_corpus:
    input:
        "scripts/stand_in.py",
        environment=environment_record("report"),
        script="scripts/fetch_corpus.py",
    output:
        "results/corpus/source.json",
    log:
        "results/logs/fetch_corpus.txt",
    conda:
        lambda w: environment("report")["conda"]
    params:
        corpus=lambda w: json.dumps(
            {key: value for key, value in config["corpus"].items() if key != "stride"}
        ),
        python=lambda w, input: python("report"),
    shell:
        "{params.python} {input.script} --corpus {params.corpus:q} --output {output}"
        " 2>&1 | tee {log}"


rule tokenize_corpus:
    input:
        source="results/corpus/source.json",
        environment=environment_record("report"),
        script="scripts/tokenize_corpus.py",
    output:
        CORPUS,
    log:
        "results/logs/tokenize_corpus.txt",
    conda:
        lambda w: environment("report")["conda"]
    params:
        stride=config["corpus"]["stride"],
        python=lambda w, input: python("report"),
    shell:
        "{params.python} {input.script} --source {input.source} --stride {params.stride}"
        " --output {output}"
        " 2>&1 | tee {log}"
