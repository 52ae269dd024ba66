"""A results folder as one archive to send: what others need to report it beside theirs, or to compare it.

python scripts/pack_results.py [FOLDER]
"""

import sys
import zipfile
from pathlib import Path

from reporting import results

FILES = (results.ARCHIVE, results.CONTEXT, "cells.parquet", "cells.csv")


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
    machines = results.by_machine(results.records(folder))
    if not machines:
        sys.exit(f"{folder} has no records to pack.")
    name = "results-" + "-".join(machines)
    archive, temporary = folder / f"{name}.zip", folder / f"{name}.zip.tmp"
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in FILES:
            packed.write(folder / file, f"{name}/{file}")
    temporary.replace(archive)
    print(
        f"{archive}: {sum(map(len, machines.values()))} cells. Where it goes to: unzip it, and\n"
        f"snakemake ... --config also_report='[{name}]'"
    )


if __name__ == "__main__":
    main()
