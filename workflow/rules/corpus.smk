# The text: fetched, then tokenized. Which text it is decides what records are of, so the plan waits for it.


checkpoint fetch_corpus:
    input:
        lambda w: text_tools(PLAN.corpus.known),
    output:
        "results/corpus/sources/{source}/source.json",
    log:
        "results/logs/corpus/{source}.txt",
    localrule: True
    conda:
        lambda w: tool("corpus", "conda")
    params:
        corpus=json.dumps(PLAN.corpus.wanted),
        mirrors=lambda w, input: json.dumps(PLAN.corpus.mirrors),
        python=lambda w, input: tool("corpus", "python"),
    shell:
        "{params.python:q} scripts fetch_corpus --corpus {params.corpus:q}"
        " --mirrors {params.mirrors:q} --output {output}"
        " 2>&1 | tee {log}"


rule tokenize_corpus:
    input:
        source=text,
        environment=lambda w: text_tools(PLAN.corpus_job().done()),
    output:
        "results/corpus/{digest,[0-9a-f]{12}}/corpus.json",
    log:
        "results/logs/corpus/{digest}-tokens.txt",
    localrule: True
    conda:
        lambda w: tool("corpus", "conda")
    params:
        stride=lambda w, input: config["corpus"]["stride"],
        source=lambda w, input: PLAN.corpus.source,
        python=lambda w, input: tool("corpus", "python"),
    shell:
        "{params.python:q} scripts tokenize_corpus --source {params.source} --stride {params.stride}"
        " --output {output}"
        " 2>&1 | tee {log}"
