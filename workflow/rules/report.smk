# Records into one table, the table into documents and figures.
SETTINGS = json.dumps(config, sort_keys=True)
DOCUMENTS = config["documents"]
FIGURES = [
    (matrix.figure_file(document, figure, device), document, figure["draws"], device)
    for document in DOCUMENTS
    for figure in matrix.document(document)["figures"]
    for device in results.devices(config)
]


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
    localrule: True
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
        training=[cell.training_record for cell in TRAINED],
        processes=PROCESSES,
        also_report=[f"{folder}/{results.ARCHIVE}" for folder in config["also_report"]],
        environment=environment_record("report"),
    output:
        csv=report(
            "results/cells.csv",
            caption="../../report/captions/csv.rst",
            category="Data",
            labels={"shows": "all cells as CSV"},
        ),
        records=report(
            "results/records.zip",
            caption="../../report/captions/records.rst",
            category="Data",
            labels={"shows": "all records with their raw samples"},
        ),
        parquet="results/cells.parquet",
        context="results/context.json",
    log:
        "results/logs/collect_records.txt",
    localrule: True
    conda:
        lambda w: environment("report")["conda"]
    params:
        settings=lambda w: SETTINGS,
        processes=lambda w, input: option("processes", input.processes),
        python=lambda w, input: python("report"),
    shell:
        "{params.python} scripts/collect_records.py --config {params.settings:q}"
        " {params.processes} --csv {output.csv} --parquet {output.parquet} --context {output.context}"
        " --records {output.records} 2>&1 | tee {log}"


rule render_report:
    input:
        matrix.sources("scripts/render_report.py"),
        "report/macros.md.j2",
        "report/index.md.j2",
        "report/page.html.j2",
        "report/cells.html.j2",
        "config/implementations.yaml",
        expand("config/documents/{document}.yaml", document=DOCUMENTS),
        expand("report/{document}.md.j2", document=DOCUMENTS),
        cells="results/cells.parquet",
        context="results/context.json",
        environment=environment_record("report"),
    output:
        "results/report/index.md",
        expand("results/report/{document}.md", document=DOCUMENTS),
        report(
            "results/report/index.html",
            caption="../../report/captions/index.rst",
            category="Overview",
            labels={"shows": "first page"},
        ),
        report(
            "results/report/cells.html",
            caption="../../report/captions/cells.rst",
            category="Data",
            labels={"shows": "all cells, to search and sort"},
        ),
        *(
            report(
                f"results/report/{document}.html",
                caption="../../report/captions/document.rst",
                category=short_title(document),
                labels={"shows": "page with all tables"},
            )
            for document in DOCUMENTS
        ),
        *(
            report(
                f"results/report/figures/{file}.svg",
                caption=f"../../report/captions/{draws}.rst",
                category=short_title(document),
                labels={
                    "shows": f"figure, {file.removeprefix(document + '-').rsplit('-', 1)[0].replace('_', ' ')}, {device.upper()}"
                },
            )
            for file, document, draws, device in FIGURES
        ),
        *(f"results/report/figures/{file}.png" for file, *_ in FIGURES),
    log:
        "results/logs/render_report.txt",
    localrule: True
    conda:
        lambda w: environment("report")["conda"]
    params:
        python=lambda w, input: python("report"),
    shell:
        "{params.python} scripts/render_report.py --cells {input.cells}"
        " --context {input.context} --folder results/report"
        " 2>&1 | tee {log}"
