"""The records of one document, of one machine or several, as a tidy table and what is said beside it."""

import argparse
from pathlib import Path

from pyarrow import parquet

from measurement.record import plainly, whole
from reporting import results, tabulate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--document", required=True)
    parser.add_argument("--manifest", required=True, type=Path, help="this run's own")
    parser.add_argument(
        "--also", nargs="*", default=[], type=Path, help="results folders of other machines"
    )
    parser.add_argument("--cells", required=True, help="cells.parquet, to write")
    parser.add_argument("--about", required=True, help="about.json, to write")
    arguments = parser.parse_args()
    paths = results.of_document(arguments.document, [arguments.manifest], arguments.also)
    parts = [results.read(path) for path in paths]
    table = tabulate.cells(arguments.document, parts)
    with whole(arguments.cells, "wb") as stream:
        parquet.write_table(tabulate.documented(table), stream)
    with whole(arguments.about) as stream:
        stream.write(results.dump(tabulate.about(arguments.document, parts)))


if __name__ == "__main__":
    plainly(main)
