"""How noisy the machine of a results folder was, by its records: within processes and between them, what other estimators
than the median would have given, and what the readings beside the batches explain (docs/notebook/noise.md)."""

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
    if not several:
        sys.exit(f"{folder} has no cell of two processes; run without `preliminary`.")
    print(
        f"{len(cells)} cells, {sum(map(len, cells))} processes. Standard deviations of log times:\n"
    )
    print("| | typical cell | root mean square |\n|:--|--:|--:|")
    spreads = {
        "a batch around its process's others": noise.within(cells),
        "a process around its cell's others": noise.between(several),
    }
    spreads |= {
        f"two processes: their {batches} batch, the {processes} of both": found
        for (batches, processes), found in noise.agreement(several).items()
    }
    for name, found in spreads.items():
        print(f"| {name} |", " | ".join(map(percent, found)), "|")
    print("\n| between processes, explained by | share of the variance |\n|:--|--:|")
    for name, share in noise.explained(several).items():
        print(f"| {name} | {percent(share)} |")
    if found := noise.disturbance(cells):
        print(
            f"\n{found['stretches']} stretches of batches, {percent(found['quiet'])} of them quiet. In {found['processes']} "
            f"processes with both, those that were not took {found['ratio']:.3f} times as long (geometric mean; more than "
            f"1.05 times in {percent(found['slower'])})."
        )
    if found := noise.forked(several):
        print(
            f"\n{found['processes']} processes were forked from one that had imported their framework; they took "
            f"{found['ratio']:.3f} [{found['low']:.3f}, {found['high']:.3f}] times as long as others of the same "
            f"{found['cells']} cells."
        )


if __name__ == "__main__":
    main()
