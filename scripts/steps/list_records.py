"""A list of a document's records, as it was planned (plan/listing.py), with those that are there."""

import argparse

from measurement.record import plainly, read_json, write_sealed
from plan import listing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True, help="what this run planned")
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    planned = read_json(arguments.plan)[arguments.output]
    write_sealed(arguments.output, listing.filled(planned))


if __name__ == "__main__":
    plainly(main)
