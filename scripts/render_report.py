"""Render the documents: the table of cells through Jinja templates into markdown and HTML.

Computes nothing: every number here was measured, or computed when the records were collected.
"""

import argparse
import base64
import itertools
import re
from collections import defaultdict
from pathlib import Path

import jinja2
import pandas as pd
from markdown_it import MarkdownIt

from measurement import departures
from measurement.record import read_json
from measurement.workload import Workload
from plan import matrix
from reporting import figures, templates
from reporting.published import by_cell


def number(value: float | None, digits: int = 4) -> str:
    """A number with fixed decimals, as the documents print them; a dash where there is none."""
    return "–" if pd.isna(value) else f"{value:.{digits}f}"


def error(value: float | None) -> str:
    return "–" if pd.isna(value) else f"{value:.1e}"


def milliseconds(value: float | None) -> str:
    """Seconds as milliseconds with three decimals."""
    return number(value * 1e3, 3) if pd.notna(value) else "–"


def seconds(value: float | None) -> str:
    """Seconds, with decimals where they are few."""
    return "–" if pd.isna(value) else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def whole(value: float | None) -> str:
    """A rate without decimals, thousands apart."""
    return "–" if pd.isna(value) else f"{value:,.0f}"


def percent(value: float | None) -> str:
    return "–" if pd.isna(value) else f"{100 * value:.0f} %"


def digits(value: float) -> str:
    """A number of any size: four decimals, or thousands apart."""
    return f"{value:.4f}" if value < 1000 else f"{value:,.0f}"


def deviation(value: float) -> str:
    """A share as percent, with two digits at least."""
    return f"{100 * value:,.0f} %" if value >= 0.1 else f"{100 * value:.2g} %"


def mebibytes(value: float | None) -> str:
    return "–" if pd.isna(value) else f"{value / 2**20:,.0f}"


def slug(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")


def page(markdown: str, folder: Path) -> str:
    """A self-contained HTML page of a markdown document: its figures inside it, its links to other pages."""

    def inline(match: re.Match) -> str:
        data = base64.b64encode((folder / match[1]).read_bytes()).decode()
        return f'src="data:image/svg+xml;base64,{data}"'

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    body = re.sub(r'src="([^":]+\.svg)"', inline, body)
    # Links within and between pages, as forges make them of markdown.
    body = re.sub(r"<(h\d)>([^<]+)</h", lambda m: f'<{m[1]} id="{slug(m[2])}">{m[2]}</h', body)
    body = re.sub(r'href="([a-z0-9-]+)\.md', r'href="\1.html', body)
    template = (templates.FOLDER / "page.html.j2").read_text()
    title = re.search(r"^# (.+)$", markdown, re.M)
    return jinja2.Template(template).render(title=title[1] if title else "", body=body)


SEARCHED = [  # the columns of the searchable table, out of all those of cells.csv
    *("document", "benchmark", "implementation", "environment", "framework_version", "phase"),
    *("device", "status", "wall_s", "wall_low_s", "wall_high_s", "sequences_per_s", "gflops"),
    *("build_s", "first_step_s", "tuning_s", "peak_memory_bytes", "output_error"),
    *("gradient_error", "flags", "published_wall_s", "processes", "batches", "records", "reason"),
]


def searchable(cells: pd.DataFrame, several: bool) -> dict:
    """{"columns", "rows"} of the table of all cells, each with the place of its raw samples in records.zip."""
    columns = (["machine"] if several else []) + SEARCHED
    shown = cells[columns]
    words = shown.select_dtypes(exclude="number").columns
    return {"columns": columns, "rows": shown.fillna(dict.fromkeys(words, "")).to_numpy().tolist()}


def tables(document: dict, cells: pd.DataFrame, machines: list[str]) -> list[dict]:
    """The document's tables, each once a machine that has rows for it, with its rows in order, and by benchmark and
    implementation."""
    found = []
    for table, machine in itertools.product(document["tables"], machines):
        own = cells[cells["machine"] == machine]
        shown = [
            matrix.shows(table, row.family, row.device, row.benchmark) for row in own.itertuples()
        ]
        rows = own[shown].to_dict("records")
        if not rows and machine != machines[0]:
            continue
        title = table["title"] + (f", {machine}" if len(machines) > 1 else "")
        shapes = {row["benchmark"]: {} for row in rows}
        for row in rows:
            shapes[row["benchmark"]][row["implementation"]] = row
        compared = {
            row["implementation"]: row["label"]
            for row in sorted(rows, key=lambda row: table["families"].index(row["family"]))
            if row["family"] != "ceiling"
        }
        found.append(
            table
            | {"title": title, "machine": machine, "rows": rows}
            | {"shapes": shapes, "compared": compared}
        )
    return found


def published(name: str) -> dict[str, dict[str, dict]]:
    """{benchmark: {implementation: numbers}} of a document's own numbers on whatever device; what it
    lacks has no numbers."""
    table = by_cell(matrix.published_files(name))
    found = defaultdict(lambda: defaultdict(lambda: dict.fromkeys(table)))
    for row in table.to_dict("records"):
        found[row["benchmark"]][row["implementation"]] = row
    return found


def draw(
    name: str, cells: pd.DataFrame, trained: pd.DataFrame, devices: list[str], folder: Path
) -> list[dict]:
    """Draw a document's figures below `folder`, from its cells or the rows of its training runs: [{"figure": its entry, "device", "file", "text": the alternative}]."""
    document, drawn = matrix.document(name), []
    for figure, device in itertools.product(document["figures"], devices):
        stem = Path("figures") / matrix.figure_file(name, figure, device)
        title = f"{figure.get('name', document['title'])} ({device.upper()})"
        table = trained if figure["draws"] == "perplexity" else cells
        patterns, rows = figure.get("benchmarks", ["*"]), table[table["device"] == device]
        shown = [matrix.takes_part(patterns, benchmark) for benchmark in rows["benchmark"]]
        text = getattr(figures, figure["draws"])(rows[shown], title, folder / stem)
        drawn.append({"figure": figure, "device": device, "file": f"{stem}.svg", "text": text})
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", required=True, help="cells.parquet")
    parser.add_argument("--context", required=True, help="context.json")
    parser.add_argument("--folder", required=True, type=Path, help="to write the documents to")
    arguments = parser.parse_args()
    context = read_json(arguments.context)
    cells = pd.read_parquet(arguments.cells)
    entries = pd.DataFrame(matrix.implementations()).reindex(
        columns=["implementation", "label", "family", "flexibility", "does"]
    )
    labels = dict(zip(entries["implementation"], entries["label"], strict=True))
    cells = cells.merge(entries, on="implementation", how="left")
    machines = list(dict.fromkeys(cells["machine"]))  # this run's first
    also = [each["machine"] for each in context["also_reported"]]
    devices = context["config"]["devices"]

    def took_part(row: dict) -> bool:
        """Whether a row's device was to be measured; of other runs there are only rows of such devices."""
        return row["device"] in devices or row["machine"] in also

    environment = templates.environment()
    environment.globals["several"] = len(machines) > 1
    environment.globals["tolerance"] = matrix.tolerance
    environment.tests["given"] = pd.notna
    environment.filters |= {
        "number": number,
        "error": error,
        "mebibytes": mebibytes,
        "deviation": deviation,
        "digits": digits,
        "milliseconds": milliseconds,
        "seconds": seconds,
        "percent": percent,
        "whole": whole,
    }

    def write(name: str, **values) -> None:
        markdown = environment.get_template(f"{name}.md.j2").render(**(context | values))
        (arguments.folder / f"{name}.md").write_text(markdown)
        (arguments.folder / f"{name}.html").write_text(page(markdown, arguments.folder))

    arguments.folder.mkdir(parents=True, exist_ok=True)
    summaries = []
    for name in context["config"]["documents"]:
        document, own = matrix.document(name), cells[cells["document"] == name]
        called = labels | document.get("labels", {})
        own = own.assign(label=own["implementation"].map(called))
        shown = entries[entries["implementation"].isin(own["implementation"])]
        trainings = [
            run
            | {"rows": [each | {"label": called[each["implementation"]]} for each in run["rows"]]}
            for run in context["trainings"]
            if run["document"] == name
        ]
        trained = pd.DataFrame(
            [each | {"machine": run["machine"]} for run in trainings for each in run["rows"]],
            columns=[*figures.PERPLEXITY],
        )
        drawn = draw(name, own, trained, context["devices"], arguments.folder)
        write(
            name,
            document=document,
            labels=called,
            **{
                key: [entry for entry in context[key] if entry["document"] == name]
                for key in ("ratios", "overheads", "break_even", "frameworks", "configurations")
            },
            then_and_now=[
                found
                | matrix.implementation(found["implementation"])
                | {"label": called[found["implementation"]]}
                for found in context["then_and_now"]
                if found["document"] == name and took_part(found)
            ],
            departures=departures.DESCRIPTIONS,
            trainings=trainings,
            **{
                key: matrix.protocol_of(context["config"], name)[key]
                for key in ("protocol", "check")
            },
            published=published(name),
            tables=tables(document, own, machines),
            implementations=shown.assign(label=shown["implementation"].map(called)).to_dict(
                "records"
            ),
            figures=drawn,
            verdicts=[group for group in context["claims"] if group["document"] == name],
            parameters={
                key: Workload(value, None, seed=0).parameters()
                for key, value in document["benchmarks"].items()
            },
        )
        summaries.append(
            {"name": name, "document": document, "figures": drawn}
            | {
                "counts": {
                    machine: rows["status"].value_counts().to_dict()
                    for machine, rows in own.groupby("machine", sort=False)
                }
            }
        )
    wanting = filter(took_part, cells[cells["status"] != "ok"].to_dict("records"))
    write("index", summaries=summaries, wanting=list(wanting))
    table = environment.get_template("cells.html.j2").render(**searchable(cells, len(machines) > 1))
    (arguments.folder / "cells.html").write_text(table)


if __name__ == "__main__":
    main()
