"""How noisy the machine of a results folder was, by its records (docs/notebook/noise.md)."""

import argparse
import sys
from pathlib import Path

from reporting import results
from stats import noise


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("results"))
    folder = parser.parse_args().folder
    rows = [row for path in results.manifests_in(folder) for row in results.read(path).cells]
    measured = (row.records for row in rows if row.records)
    cells = [own for own in measured if all(record["status"] == "ok" for record in own)]
    several = [own for own in cells if len(own) > 1]
    if not cells:
        sys.exit(f"{folder} has no measurement with a result.")
    print(f"{len(cells)} measurements, {sum(map(len, cells))} processes.\n")
    print("| standard deviation of log times | typical | root mean square |\n|:--|--:|--:|")
    print("| batches of a process |", " | ".join(map(percent, noise.within(cells))), "|")
    if several:
        print("| processes |", " | ".join(map(percent, noise.between(several))), "|")
    if found := noise.turns(cells):
        print("\n| looks | standard deviation within rounds | correlation of successive rounds |")
        print("|--:|--:|--:|")
        for group in found.groups:
            deviation, correlation = percent(group["deviation"]), group["correlation"]
            print(f"| {group['looks']} | {deviation} | {correlation:.2f} |")
        print(
            f"\nTwo processes of a measurement differ by {percent(found.processes)} beyond the noise of their looks "
            f"({found.pairs} pairs)."
        )
        if found.further:
            print(
                f"What a measurement takes over the others typically differs by {percent(found.blocks)} from one run to another "
                f"(by {found.further} that were measured again)."
            )


if __name__ == "__main__":
    main()
