"""`make prune`: delete what no configuration asks for any more; says first what and how much.

Kept is what a configuration asks for, with the settings given, and what a manifest names: the last reports' records, of
this machine and of others. Nothing is deleted while a run is at work.
"""

import argparse
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from measurement import machine
from measurement.record import read_json
from plan import configuration, copies, lease, own
from plan.jobs import (
    COMPILED,
    LOOKS,
    RESULTS,
    BuildJob,
    CheckingJob,
    CheckJob,
    ConvergenceJob,
    Job,
    TimeJob,
    past_checkings,
    with_needs,
)
from plan.planner import Plan
from reporting import profiles

FOLDERS = [
    *(LOOKS, profiles.FOLDER),
    *(kind.folder for kind in (CheckJob, CheckingJob, TimeJob, ConvergenceJob)),
]


def configurations() -> list[str]:
    """The files that are laid over config/config.yaml: those of config/ but for its tables, which have schemas of their
    own, those of cells of one's own, and those beside config/ that have keys of a configuration."""
    schemas = Path("workflow/schemas").glob("*.schema.yaml")
    tables = {path.name.removesuffix(".schema.yaml") for path in schemas} - {"config"}
    found = [path for path in Path("config").glob("*.yaml") if path.stem not in tables]
    keys = configuration.schema("config")["properties"].keys()
    for path in Path().glob("*.yaml"):
        content = configuration.read(str(path))
        if isinstance(content, dict) and content.keys() & keys:
            found.append(path)
    found += own.FOLDER.glob("*/config.yaml")
    return sorted(map(str, found))


def asked_for(configs: Iterable[dict]) -> set[Path]:
    """The results of every job of some configurations."""
    found: set[Path] = set()
    for config in configs:
        plan = Plan(config, cores=machine.usable_cores())
        jobs: list[Job] = []
        for document in config["documents"]:
            jobs += plan.timings(document, plan.most(document)) + plan.convergences(document)
        for job in with_needs(jobs).values():
            found.add(Path(job.path))
            if isinstance(job, TimeJob):
                found |= {Path(job.looks), Path(job.compiled), Path(profiles.beside(job.path))}
    made = past_checkings().items()
    return found | {Path(path) for path, checks in made if not found.isdisjoint(map(Path, checks))}


def reported() -> set[Path]:
    """The records that manifests name."""
    found = set()
    for manifest in Path(RESULTS, "manifests").glob("*.json"):
        content = read_json(str(manifest))
        names = [record for cell in content["cells"] for record in cell["records"]]
        names += map(profiles.beside, list(names))
        names += [run["record"] for run in content["training"] if run["record"]]
        found.update(Path(RESULTS, name) for name in names)
    return found


def superfluous(kept: set[Path]) -> list[Path]:
    """Files, and folders of kernels, that are not kept."""
    # The last two: set aside, and left by what was killed.
    patterns = ("*.json", "*.jsonl", "*.damaged", "*.tmp")
    folders = [Path(RESULTS, name) for name in FOLDERS]
    files = [file for folder in folders for pattern in patterns for file in folder.rglob(pattern)]
    found = [file for file in files if file not in kept]
    found += [folder for folder in Path(RESULTS, COMPILED).glob("*") if folder not in kept]
    kernels = Path(RESULTS, BuildJob.folder).rglob("kernel.json")
    found += [file.parent for file in kernels if file not in kept]
    now = copies.digest_of(copies.contents(Path()))  # the scripts of earlier runs
    return found + [copy for copy in sorted(copies.FOLDER.glob("*")) if copy.name != now]


def size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configfile", help="another configuration file")
    parser.add_argument("--config", nargs="*", default=[])
    parser.add_argument("--yes", action="store_true", help="do not ask")
    arguments = parser.parse_args()
    lease.take()
    files = dict.fromkeys([*filter(None, [arguments.configfile]), *configurations()])
    configs = (configuration.given(file, arguments.config) for file in files)
    kept = asked_for(configs) | reported()
    found = superfluous(kept)
    if not found:
        print("Every result is used by a configuration or a report.")
        return
    print(
        f"{len(found)} results that no configuration asks for, {sum(map(size, found)) / 2**20:.1f} MiB, such as {found[0]}"
    )
    if not arguments.yes:
        if not sys.stdin.isatty():
            print("Nothing was deleted. To delete them: make prune YES=1")
            return
        if input("Delete them? [y/N] ").strip().lower() != "y":
            return
    for path in found:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    print("Deleted.")


if __name__ == "__main__":
    main()
