"""`make pages`: the pages of a run from its records alone, as they were packed, by this code; nothing is measured.
Of several packs those of the first one's documents, with the other machines beside it.

python scripts render_pack ARCHIVE|FOLDER [...] [--output FOLDER]
"""

import argparse
import itertools
import os
import runpy
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path

from measurement.record import plainly, read_json
from plan import configuration, matrix, own
from reporting import packs, pages, results


def published(folder: Path) -> list[Path]:
    """Manifests of a pack but those of its maker's own cells and shapes, which this workflow does not have."""
    known = matrix.documents()
    return [
        path
        for path in results.manifests_in(folder)
        if (name := results.read_manifest(path)["document"]) in known
        or not name.startswith((own.DOCUMENT, own.SHAPE_DOCUMENT))
    ]


def documents(folder: Path) -> dict[str, Path]:
    """{document: its manifest}, in the order of the configuration; a stop with one line if this code does not know one,
    or one of its rows."""
    found, rows = {}, {each["implementation"] for each in matrix.implementations()}
    for path in published(folder):
        manifest = results.read_manifest(path)
        found.setdefault(manifest["document"], path)
        if strange := sorted({cell["implementation"] for cell in manifest["cells"]} - rows):
            sys.exit(f"{folder} has rows of {strange[0]}, which this workflow does not know.")
    if not found:
        sys.exit(
            f"{folder} has no document of this workflow; `also_report` shows cells of its maker's own."
        )
    known = configuration.mapping("config/config.yaml")["documents"]
    if strange := sorted(found.keys() - set(matrix.documents())):
        sys.exit(
            f"{folder} has pages of {strange[0]}, a document that this workflow does not have."
        )
    return {name: found[name] for name in (*known, *found) if name in found}


def step(name: str, *arguments: object) -> None:
    """One of the steps that rules run."""
    sys.argv = [name, *map(str, arguments)]
    runpy.run_module(f"steps.{name}", run_name="__main__", alter_sys=True)


def files(made: Path, name: str, machine: str = "") -> dict[str, Path]:
    """What is made of a document on the way to its pages; of another machine's only what is not of all."""
    own = f"{name}-{machine}" if machine else name
    return {
        "cells": made / f"{name}-cells.parquet",
        "about": made / f"{name}-about.json",
        "sections": made / f"{own}-sections.json",
        "summary": made / f"{own}-summary.json",
    }


def tabulate(name: str, manifest: Path, others: list[Path], made: Path) -> list[str]:
    """A document's tables into `made`; the machines that have it, the first one first. others: results folders."""
    own = files(made, name)
    read = ("--document", name, "--manifest", manifest, "--also", *others)
    step("tabulate_records", *read, "--cells", own["cells"], "--about", own["about"])
    return [each["machine"] for each in read_json(own["about"])["machines"]]


def page_of(name: str, machine: str, made: Path, report: Path, site: list[str]) -> None:
    """A document's page and figures of another machine, or of the first one (""), into `report`."""
    own = files(made, name, machine)
    read = ("--cells", own["cells"], "--about", own["about"], "--machine", machine)
    found = ("--sections", own["sections"], "--summary", own["summary"])
    step("analyse_document", *read, *found, "--figures", report / "figures" / name)
    written = ("--output", report / f"{name}.md", "--documents", *site)
    step("render_page", *found[:2], *read[2:], *written)


def pages_of_all(machine: str, made: Path, report: Path, site: list[str]) -> None:
    """The pages that are about all documents."""
    own = [files(made, name, machine) for name in site]
    step(
        *("render_first_page", "--folder", report, "--machine", machine),
        *("--cells", *(each["cells"] for each in own)),
        *("--abouts", *(each["about"] for each in own)),
        *("--summaries", *(each["summary"] for each in own)),
    )


def render(folder: Path, others: list[Path], output: Path) -> None:
    """All pages of a results folder, and of others beside it, into `output`: markdown, HTML, figures, cells.csv; the first
    machine's at the top, those of others in a folder each."""
    found = documents(folder)
    with tempfile.TemporaryDirectory() as temporary:
        made, report = Path(temporary, "made"), Path(temporary, "report")
        made.mkdir()
        with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:

            def all_of(task: Callable, calls: Iterable[tuple]) -> list:
                """What some calls return, made at the same time."""
                return [each.result() for each in [pool.submit(task, *call) for call in calls]]

            tables = all_of(tabulate, ((name, path, others, made) for name, path in found.items()))
            have = dict(zip(found, tables, strict=True))
            first = tables[0][0]
            parts = {
                ("" if machine == first else machine): [n for n in found if machine in have[n]]
                for machine in dict.fromkeys(itertools.chain(*tables))
            }
            sites = [
                (machine, report / pages.folder(machine) if machine else report, site)
                for machine, site in parts.items()
            ]
            all_of(
                page_of,
                ((name, machine, made, at, site) for machine, at, site in sites for name in site),
            )
            all_of(pages_of_all, ((machine, made, at, site) for machine, at, site in sites))
        cells = (files(made, name)["cells"] for name in found)
        step("join_tables", "--cells", *cells, "--csv", report / "cells.csv")
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
