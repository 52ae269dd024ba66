# How many processes noisy cells get, and which records a document's report is made of.


# A target for machines that make no pages; `make measure` lists what is there.
rule measure:
    input:
        all_records,
    localrule: True


# What this run planned for each list stands in one file.
rule list_first_records:
    input:
        first_records,
    output:
        FIRST,
    log:
        "results/logs/documents/{document}/first.txt",
    localrule: True
    conda:
        lambda w: tool("report", "conda")
    params:
        records=lambda w: JOBS.summary(w.document),
        python=lambda w, input: sys.executable,
    message:
        "list the first records of {wildcards.document}"
    shell:
        "{params.python:q} scripts list_records --plan results/plan.json --output {output}"
        " 2>&1 | tee {log}"


checkpoint judge_precision:
    input:
        first=FIRST,
        environment=lambda w: tool("report", "record"),
    output:
        PROCESSES,
    log:
        "results/logs/documents/{document}/processes.txt",
    localrule: True
    conda:
        lambda w: tool("report", "conda")
    params:
        stamp=stamp,
    shell:
        "{params.stamp} judge_precision --manifest {input.first}"
        " --output {output} 2>&1 | tee {log}"


use rule list_first_records as list_records with:
    input:
        missing_records,
        processes=lambda w: (
            [PROCESSES.format(document=w.document)] if PLAN.adapts(w.document) else []
        ),
    output:
        MANIFEST,
    log:
        "results/logs/documents/{document}/manifest.txt",
    localrule: True  # which is not taken over
    message:
        "list the records of {wildcards.document}"
