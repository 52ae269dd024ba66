"""The manifest of a document, or of its first processes (plan/listing.py), into its file."""

import argparse
import json

from measurement.record import plainly, read_json, write_sealed
from plan import copies, listing
from plan.planner import Plan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True, type=json.loads, help="what the plan is made of")
    parser.add_argument("--document", required=True)
    parser.add_argument("--first", action="store_true", help="of the first processes only")
    parser.add_argument("--processes", help="processes.json, where noisy cells got further ones")
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    copies.take()  # what was measured is what was planned, whatever stands in scripts/ by now
    counts = read_json(arguments.processes) if arguments.processes else {}
    plan = Plan(**arguments.plan)
    found = listing.manifest(plan, arguments.document, None if arguments.first else counts)
    write_sealed(arguments.output, found)


if __name__ == "__main__":
    plainly(main)
