"""`make pages`: the pages of a run from its records alone, as they were packed, by this code; nothing is measured.
Of several packs those of the first one's documents, with the other machines beside it.

python scripts render_pack ARCHIVE|FOLDER [...] [--output FOLDER]
"""

import argparse
import os
import runpy
import shutil
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path

from measurement.record import plainly
from plan import configuration, matrix
from reporting import packs, results


def documents(folder: Path) -> dict[str, Path]:
    """{document: its manifest}, in the order of the configuration; a stop with one line if this code does not know one,
    or one of its rows."""
    found, rows = {}, {each["implementation"] for each in matrix.implementations()}
    for path in results.manifests_in(folder):
        manifest = results.read_manifest(path)
        found.setdefault(manifest["document"], path)
        if strange := sorted({cell["implementation"] for cell in manifest["cells"]} - rows):
            sys.exit(f"{folder} has rows of {strange[0]}, which this workflow does not know.")
    known = configuration.mapping("config/config.yaml")["documents"]
    if strange := sorted(found.keys() - set(matrix.documents())):
        sys.exit(
            f"{folder} has pages of {strange[0]}, a document that this workflow does not have."
        )
    order = {name: place for place, name in enumerate(known)}
    return dict(sorted(found.items(), key=lambda each: order.get(each[0], len(order))))


def step(name: str, *arguments: object) -> None:
    """One of the steps that rules run."""
    sys.argv = [name, *map(str, arguments)]
    runpy.run_module(f"steps.{name}", run_name="__main__", alter_sys=True)


def of_document(
    name: str, manifest: Path, others: list[Path], made: Path, report: Path, site: list[str]
) -> None:
    """A document's tables and sections into `made`, its page and figures into `report`; others: results folders."""
    cells, about, found, summary = (
        made / f"{name}-{file}"
        for file in ("cells.parquet", "about.json", "sections.json", "summary.json")
    )
    step(
        *("tabulate_records", "--document", name, "--manifest", manifest),
        *("--cells", cells, "--about", about, "--also", *others),
    )
    step(
        *("analyse_document", "--cells", cells, "--about", about, "--sections", found),
        *("--summary", summary, "--figures", report / "figures" / name),
    )
    step(
        *("render_page", "--sections", found, "--output", report / f"{name}.md"),
        *("--documents", *site),
    )


def render(folder: Path, others: list[Path], output: Path) -> None:
    """All pages of a results folder, and of others beside it, into `output`: markdown, HTML, figures, cells.csv."""
    found = documents(folder)
    with tempfile.TemporaryDirectory() as temporary:
        made, report = Path(temporary, "made"), Path(temporary, "report")
        made.mkdir()
        with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
            running = [
                pool.submit(of_document, name, path, others, made, report, list(found))
                for name, path in found.items()
            ]
            for each in running:
                each.result()
        step(
            *("join_tables", "--cells", *(made / f"{name}-cells.parquet" for name in found)),
            *("--csv", report / "cells.csv"),
        )
        step(
            *("render_first_page", "--folder", report),
            *("--cells", *(made / f"{name}-cells.parquet" for name in found)),
            *("--abouts", *(made / f"{name}-about.json" for name in found)),
            *("--summaries", *(made / f"{name}-summary.json" for name in found)),
        )
        shutil.rmtree(output, ignore_errors=True)
        shutil.copytree(report, output)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "packs", type=Path, nargs="+", help="archives of `make pack`, or results folders"
    )
    parser.add_argument(
        "--output", type=Path, help="output folder, replaced; default below build/pages"
    )
    arguments = parser.parse_args()
    output = arguments.output or Path("build/pages", packs.stem(arguments.packs[0]))
    with ExitStack() as stack:
        folder, *others = (stack.enter_context(packs.unpacked(pack)) for pack in arguments.packs)
        render(folder, others, output)
    print(f"{output}/index.html")


if __name__ == "__main__":
    plainly(main)
