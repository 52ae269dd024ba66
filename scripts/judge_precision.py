"""How many processes each cell gets, by how wide its interval is after the first ones."""

import argparse
import json

import matrix
from measurement.record import read_json, write_json
from reporting import estimates


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
    parser.add_argument(
        "--config", required=True, type=json.loads, help="the configuration, as JSON"
    )
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    found = {}
    for cell, document in matrix.cells(arguments.config).items():
        if matrix.adapts(arguments.config, document):
            numbers = matrix.processes(arguments.config, document)
            records = [read_json(cell.record(number)) for number in numbers]
            protocol = matrix.protocol_of(arguments.config, document)["protocol"]
            found[cell.name] = wanted(records, protocol)
    write_json(arguments.output, found)


if __name__ == "__main__":
    main()
