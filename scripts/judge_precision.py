"""How many processes each cell gets, by how wide its interval is after the first ones."""

import argparse
from pathlib import Path

from measurement.record import read_json, write_json
from plan.matrix import Cell
from reporting import estimates

RESULTS = Path("results")


def wanted(records: list[dict], protocol: dict) -> int:
    """The number of processes of a cell with these records. One that has no number needs no more of them."""
    if any(record["status"] != "ok" for record in records):
        return len(records)
    samples = [record["samples"] for record in records]
    return estimates.processes_needed(
        samples, protocol["target_interval"], protocol["most_processes"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--manifest", required=True, type=Path, help="of the first processes")
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    manifest, found = read_json(str(arguments.manifest)), {}
    for entry in manifest["cells"]:
        if records := [read_json(str(RESULTS / path)) for path in entry["records"]]:
            found[Cell.of(entry).name] = wanted(records, manifest["protocol"])
    write_json(arguments.output, found)


if __name__ == "__main__":
    main()
