# Records into one table, the table into documents and figures.
SETTINGS = json.dumps(config, sort_keys=True)
DOCUMENTS = config["documents"]


checkpoint judge_precision:
    input:
        matrix.sources("scripts/judge_precision.py"),
        "config/implementations.yaml",
        expand("config/documents/{document}.yaml", document=DOCUMENTS),
        records=FIRST_RECORDS,
        environment=environment_record("report"),
    output:
        "results/processes.json",
    log:
        "results/logs/judge_precision.txt",
    conda:
        lambda w: environment("report")["conda"]
    params:
        settings=lambda w: SETTINGS,
        python=lambda w, input: python("report"),
    shell:
        "{params.python} scripts/judge_precision.py --config {params.settings:q}"
        " --output {output} 2>&1 | tee {log}"


rule collect_records:
    input:
        matrix.sources("scripts/collect_records.py"),
        "config/claims.yaml",
        "config/implementations.yaml",
        expand("config/documents/{document}.yaml", document=DOCUMENTS),
        published=matrix.published_files("*"),
        records=all_records,
        processes=PROCESSES,
        environment=environment_record("report"),
    output:
        csv=report(
            "results/cells.csv",
            caption="../../report/captions/cells.rst",
            category="Data",
            labels={"shows": "a row a cell"},
        ),
        parquet="results/cells.parquet",
        context="results/context.json",
    log:
        "results/logs/collect_records.txt",
    conda:
        lambda w: environment("report")["conda"]
    params:
        settings=lambda w: SETTINGS,
        processes=lambda w, input: option("processes", input.processes),
        python=lambda w, input: python("report"),
    shell:
        "{params.python} scripts/collect_records.py --config {params.settings:q}"
        " {params.processes} --csv {output.csv} --parquet {output.parquet} --context {output.context}"
        " 2>&1 | tee {log}"


rule render_report:
    input:
        matrix.sources("scripts/render_report.py"),
        "report/macros.md.j2",
        "report/index.md.j2",
        "report/page.html.j2",
        "config/implementations.yaml",
        expand("config/documents/{document}.yaml", document=DOCUMENTS),
        expand("report/{document}.md.j2", document=DOCUMENTS),
        cells="results/cells.parquet",
        context="results/context.json",
        environment=environment_record("report"),
    output:
        "results/report/index.md",
        expand("results/report/{document}.md", document=DOCUMENTS),
        expand(
            "results/report/figures/{document}-{device}.png",
            document=DOCUMENTS,
            device=DEVICES,
        ),
        report(
            "results/report/index.html",
            caption="../../report/captions/document.rst",
            category="Overview",
            labels={"shows": "all documents"},
        ),
        *(
            report(
                f"results/report/{document}.html",
                caption="../../report/captions/document.rst",
                category=matrix.document(document)["title"],
                labels={"shows": "all tables"},
            )
            for document in DOCUMENTS
        ),
        *(
            report(
                f"results/report/figures/{document}-{device}.svg",
                caption="../../report/captions/figure.rst",
                category=matrix.document(document)["title"],
                labels={"shows": f"figure, {device.upper()}"},
            )
            for document in DOCUMENTS
            for device in DEVICES
        ),
    log:
        "results/logs/render_report.txt",
    conda:
        lambda w: environment("report")["conda"]
    params:
        python=lambda w, input: python("report"),
    shell:
        "{params.python} scripts/render_report.py --cells {input.cells}"
        " --context {input.context} --folder results/report"
        " 2>&1 | tee {log}"
