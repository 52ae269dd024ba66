"""The tables of all documents as one: cells.csv."""

import argparse

import pandas as pd

from measurement.record import plainly, whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", required=True, nargs="+", help="cells.parquet of documents")
    parser.add_argument("--csv", required=True)
    arguments = parser.parse_args()
    table = pd.concat([pd.read_parquet(path) for path in arguments.cells], ignore_index=True)
    with whole(arguments.csv) as stream:
        table.to_csv(stream, index=False)


if __name__ == "__main__":
    plainly(main)
