# Records become a document's table, the table its sections, sections its page: each step by document. The first page
# is made of summaries only; nothing of one document is read for another.
from reporting import pages

FIGURES = "results/report/figures/{document}"
FOLDERS = ["results", *config["also_report"]]
# Other machines whose results are reported too: {machine: documents that it has}.
MACHINES = pages.other_machines(DOCUMENTS, MANIFEST, FOLDERS)
OF_MACHINE = "results/report/machines/{machine}/"
# About all documents; one machine is compared with none.
PAGES = [name for name in pages.settings()["titles"] if MACHINES or name != "machines"]
OF_FIRST_PAGE = [
    *sources.files("scripts/steps/render_first_page.py"),
    *pages.templates_of_first_page(),
    "config/pages.yaml",
]


rule tabulate:
    input:
        sources.files("scripts/steps/tabulate_records.py"),
        "workflow/schemas/cells.schema.yaml",
        "config/implementations.yaml",
        lambda w: str(matrix.document_file(w.document)),
        lambda w: pages.manifests_of_others(w.document, MANIFEST, FOLDERS),
        published=lambda w: matrix.published_files(w.document),
        manifest=MANIFEST,
        environment=lambda w: tool("report", "record"),
    output:
        cells=f"{OF_DOCUMENT}cells.parquet",
        about=f"{OF_DOCUMENT}about.json",
    log:
        "results/logs/tabulate/{document}.txt",
    localrule: True
    conda:
        lambda w: tool("report", "conda")
    params:
        also=lambda w: (
            f"--also {shlex.join(config['also_report'])}"
            if config["also_report"]
            else ""
        ),
        # Where its list is gone, so that it is made anew.
        records=lambda w: JOBS.summary(w.document),
        stamp=stamp,
    shell:
        "{params.stamp} tabulate_records --document {wildcards.document}"
        " --manifest {input.manifest} --cells {output.cells} --about {output.about}"
        " {params.also} 2>&1 | tee {log}"


rule analyse:
    input:
        lambda w: pages.analyses(w.document),
        "config/claims.yaml",
        "config/implementations.yaml",
        "config/pages.yaml",
        lambda w: str(matrix.document_file(w.document)),
        published=lambda w: matrix.published_files(f"{w.document}*"),
        cells=rules.tabulate.output.cells,
        about=rules.tabulate.output.about,
        environment=lambda w: tool("report", "record"),
    output:
        sections=f"{OF_DOCUMENT}sections.json",
        summary=f"{OF_DOCUMENT}summary.json",
        figures=report(
            directory(FIGURES),
            patterns=["{figure}.svg"],
            caption="../../report/captions/figure.rst",
            category="{document}",
            labels={"shows": "figure {figure}"},
        ),
    log:
        "results/logs/analyse/{document}.txt",
    wildcard_constraints:
        document="[^/]+",
        machine="[^/]+",
    localrule: True
    conda:
        lambda w: tool("report", "conda")
    params:
        stamp=stamp,
        machine="",
    shell:
        "{params.stamp} analyse_document --cells {input.cells}"
        " --about {input.about} {params.machine} --sections {output.sections}"
        " --summary {output.summary} --figures {output.figures} 2>&1 | tee {log}"


use rule analyse as analyse_machine with:
    output:
        sections=f"{OF_DOCUMENT}{{machine}}/sections.json",
        summary=f"{OF_DOCUMENT}{{machine}}/summary.json",
        figures=directory(f"{OF_MACHINE}figures/{{document}}"),
    log:
        "results/logs/analyse/{document}-{machine}.txt",
    localrule: True  # which is not taken over
    params:
        machine=lambda w: f"--machine {shlex.quote(w.machine)}",


rule render_page:
    input:
        sources.files("scripts/steps/render_page.py"),
        pages.TEMPLATES,
        sections=rules.analyse.output.sections,
        about=rules.tabulate.output.about,
        figures=ancient(FIGURES),  # their folder has a time of its own
        environment=lambda w: tool("report", "record"),
    output:
        markdown="results/report/{document}.md",
        html=report(
            "results/report/{document}.html",
            caption="../../report/captions/document.rst",
            category="{document}",
            labels={"shows": "page with all tables"},
        ),
    log:
        "results/logs/render_page/{document}.txt",
    wildcard_constraints:
        document="|".join(DOCUMENTS),
        machine="[^/]+",
    localrule: True
    conda:
        lambda w: tool("report", "conda")
    params:
        stamp=stamp,
        documents=DOCUMENTS,  # each page lists all of them
        machine="",
    shell:
        "{params.stamp} render_page --sections {input.sections}"
        " --about {input.about} {params.machine} --output {output.markdown}"
        " --documents {params.documents:q} 2>&1 | tee {log}"


use rule render_page as render_machine with:
    input:
        sources.files("scripts/steps/render_page.py"),
        pages.TEMPLATES,
        sections=rules.analyse_machine.output.sections,
        about=rules.tabulate.output.about,
        figures=ancient(f"{OF_MACHINE}figures/{{document}}"),
        environment=lambda w: tool("report", "record"),
    output:
        markdown=f"{OF_MACHINE}{{document}}.md",
        html=f"{OF_MACHINE}{{document}}.html",
    log:
        "results/logs/render_page/{document}-{machine}.txt",
    localrule: True  # which is not taken over
    params:
        documents=lambda w: MACHINES[w.machine],
        machine=lambda w: f"--machine {shlex.quote(w.machine)}",


rule join_tables:
    input:
        sources.files("scripts/steps/join_tables.py"),
        cells=expand(rules.tabulate.output.cells, document=DOCUMENTS),
        environment=lambda w: tool("report", "record"),
    output:
        csv=report(
            "results/cells.csv",
            caption="../../report/captions/csv.rst",
            category="Data",
            labels={"shows": "all cells as CSV"},
        ),
    log:
        "results/logs/join_tables.txt",
    localrule: True
    conda:
        lambda w: tool("report", "conda")
    params:
        stamp=stamp,
    shell:
        "{params.stamp} join_tables --cells {input.cells}"
        " --csv {output.csv} 2>&1 | tee {log}"


rule first_page:
    input:
        OF_FIRST_PAGE,
        cells=expand(rules.tabulate.output.cells, document=DOCUMENTS),
        abouts=expand(rules.tabulate.output.about, document=DOCUMENTS),
        summaries=expand(rules.analyse.output.summary, document=DOCUMENTS),
        figures=ancient(expand(FIGURES, document=DOCUMENTS)),
        linked=expand(rules.render_page.output.html, document=DOCUMENTS),
        environment=lambda w: tool("report", "record"),
    output:
        expand("results/report/{page}.md", page=PAGES),
        *(
            report(
                f"results/report/{page}.html",
                caption="../../report/captions/index.rst",
                category="Overview",
                labels={"shows": "first page" if page == "index" else page},
            )
            for page in PAGES
        ),
        figures=report(
            directory("results/report/figures/talks"),
            patterns=["{figure}.svg"],
            caption="../../report/captions/talks.rst",
            category="Overview",
            labels={"shows": "figure for talks: {figure}"},
        ),
    log:
        "results/logs/first_page.txt",
    localrule: True
    conda:
        lambda w: tool("report", "conda")
    params:
        stamp=stamp,
        own=lambda w: json.dumps(pages.of_own_cells()),
        folder=lambda w, output: str(Path(output[0]).parent),
        machine="",
    shell:
        "{params.stamp} render_first_page --cells {input.cells}"
        " --abouts {input.abouts} --summaries {input.summaries} {params.machine}"
        " --own {params.own:q} --folder {params.folder:q} 2>&1 | tee {log}"


use rule first_page as first_page_of_machine with:
    input:
        OF_FIRST_PAGE,
        cells=of_machine(rules.tabulate.output.cells),
        abouts=of_machine(rules.tabulate.output.about),
        summaries=of_machine(rules.analyse_machine.output.summary),
        linked=of_machine(rules.render_machine.output.html),
        environment=lambda w: tool("report", "record"),
    output:
        expand(
            f"{OF_MACHINE}{{page}}.{{kind}}",
            page=[name for name in PAGES if name != "machines"],
            kind=["md", "html"],
            allow_missing=True,
        ),
        figures=directory(f"{OF_MACHINE}figures/talks"),
    log:
        "results/logs/first_page-{machine}.txt",
    localrule: True  # which is not taken over
    params:
        own="[]",
        machine=lambda w: f"--machine {shlex.quote(w.machine)}",


rule pack_records:
    input:
        sources.files("scripts/steps/pack_results.py"),
        manifests=expand(MANIFEST, document=DOCUMENTS),
        environment=lambda w: tool("report", "record"),
    output:
        report(
            "results/records.zip",
            caption="../../report/captions/records.rst",
            category="Data",
            labels={"shows": "all records with their raw samples"},
        ),
    log:
        "results/logs/pack_records.txt",
    localrule: True
    conda:
        lambda w: tool("report", "conda")
    params:
        stamp=stamp,
    shell:
        "{params.stamp} pack_results results --output {output} 2>&1 | tee {log}"
