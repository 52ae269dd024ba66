"""`make prune`: delete what no configuration asks for any more; says first what and how much.

Kept is what a file of config/ asks for, with the settings given, and what a manifest names: the last reports' records,
of this machine and of others.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from measurement import machine
from plan.jobs import RESULTS, BuildJob, CheckJob, ConvergenceJob, Job, TimeJob
from plan.planner import Plan
from plan_run import read

FOLDERS = [kind.folder for kind in (CheckJob, TimeJob, ConvergenceJob)]
# Their results are folders of several files.
WHOLE = [BuildJob.folder]


def asked_for(configs: Iterable[dict]) -> set[Path]:
    """The results of every job of some configurations."""
    found: set[Path] = set()
    for config in configs:
        plan = Plan(config, cores=machine.usable_cores())
        queue: list[Job] = []
        for document in config["documents"]:
            most = plan.settings(document)["protocol"]["most_processes"]
            counts = {cell.name: most for cell in plan.cells(document)}
            queue += [*plan.timings(document, counts), *plan.convergences(document)]
        seen: set[str] = set()
        while queue:
            job = queue.pop()
            if job.digest not in seen:
                seen.add(job.digest)
                found.add(Path(job.path))
                queue.extend(job.needs)
    return found


def reported() -> set[Path]:
    """The records that manifests name."""
    found = set()
    for manifest in Path(RESULTS, "manifests").glob("*.json"):
        content = json.loads(manifest.read_text())
        names = [record for cell in content["cells"] for record in cell["records"]]
        names += [run["record"] for run in content["training"] if run["record"]]
        found.update(Path(RESULTS, name) for name in names)
    return found


def superfluous(kept: set[Path]) -> list[Path]:
    """Files, and folders of kernels, that are not kept."""
    files = [file for name in FOLDERS for file in Path(RESULTS, name).rglob("*.json")]
    found = [file for file in files if file not in kept]
    kernels = [file.parent for name in WHOLE for file in Path(RESULTS, name).rglob("kernel.json")]
    return found + [folder for folder in kernels if folder / "kernel.json" not in kept]


def size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", nargs="*", default=[])
    parser.add_argument("--yes", action="store_true", help="do not ask")
    arguments = parser.parse_args()
    files = sorted(
        file for file in Path("config").glob("*.yaml") if file.stem in ("config", "quick")
    )
    kept = asked_for(read(str(file), arguments.config) for file in files) | reported()
    found = superfluous(kept)
    if not found:
        print("Every result is asked for by a configuration or named by a report.")
        return
    print(
        f"{len(found)} results that nothing asks for, {sum(map(size, found)) / 2**20:.1f} MiB, such as {found[0]}"
    )
    if not arguments.yes:
        if not sys.stdin.isatty():
            print("Nothing is deleted: make prune YES=1 deletes them.")
            return
        if input("Delete them? [y/N] ").strip().lower() != "y":
            return
    for path in found:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    print("Deleted.")


if __name__ == "__main__":
    main()
