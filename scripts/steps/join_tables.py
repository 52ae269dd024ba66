"""The tables of all documents as one: cells.csv. Lists become JSON."""

import argparse
import json

import numpy as np
import pandas as pd

from measurement.record import plainly, whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", required=True, nargs="+", help="cells.parquet of documents")
    parser.add_argument("--csv", required=True)
    arguments = parser.parse_args()
    table = pd.concat([pd.read_parquet(path) for path in arguments.cells], ignore_index=True)
    for name in table.columns[table.map(lambda each: isinstance(each, np.ndarray)).any()]:
        table[name] = table[name].map(lambda each: json.dumps(each.tolist()), na_action="ignore")
    with whole(arguments.csv) as stream:
        table.to_csv(stream, index=False)


if __name__ == "__main__":
    plainly(main)
