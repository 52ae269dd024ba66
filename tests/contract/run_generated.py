"""Check steps that were generated, in the styles of one framework (the argument), and print {"verdicts", "operators"}: verdicts of
cells that have a step by hand against that one's reference, of the examples against their own generated reference; operators as
{cell: [by hand, generated]}."""

import importlib
import json
import sys
import tempfile

from measurement import checking
from measurement.cells import CELLS
from recurrent_cells.cells import CELLS as KERNELS
from tests import tiny
from tests.contract.operators import COUNTS
from tests.contract.own_cells import BY_HAND, SAMPLE, STYLES, package, registered, step

# By style, the cells. Of those by hand, which have a vector, norms, a state that begins elsewhere. TorchScript compiles seconds
# a cell, and takes types where the others take none.
SCRIPTED = ("sru", "rwkv", "normed_gru", "lem", "slstm_heads", "mlstm")
CHECKED = {
    "pytorch": {"fine_grained": SAMPLE, "fine_grained_jit": SCRIPTED},
    "tensorflow": {"graph_while": SAMPLE},
    "jax": {"scan": SAMPLE},
}
HELD_AGAINST_HAND = ("peephole", "layer-norm", "slstm")
PHASES = ("forward", "training")


def verdict(style, cell, phase):
    work = tiny.classifier("one-way", cell=cell, hidden=16, layers=2)
    found = checking.check_implementation(
        lambda work, weights: style.build(work, weights, "cpu", phase),
        *(work, work.weights(), phase),
        tolerance=1e-4,
        steps=3,
    )[1]
    return {
        "status": found["status"],
        "reason": found["reason"],
        "error": max(found["errors"].values()),
    }


def operators(folder, framework):
    table, attribute = STYLES[framework]
    known = getattr(importlib.import_module(f"implementations.{framework}.cells"), table)
    found = {}
    for called, name in BY_HAND.items():
        made = getattr(package(folder, name, KERNELS[name], framework), attribute)
        count = COUNTS[framework]
        found[called] = [count(one, CELLS[called]) for one in (known[called], made)]
    return found


def main():
    framework, found = sys.argv[1], {}
    with tempfile.TemporaryDirectory() as folder:
        styles = {
            name: importlib.import_module(f"implementations.{framework}.{name}")
            for name in CHECKED[framework]
        }
        first = next(iter(styles.values()))
        for name, style in styles.items():
            for example in CHECKED[framework][name]:
                called = registered(folder, example, framework)
                for phase in PHASES:
                    found[f"example {name} {example} {phase}"] = verdict(style, called, phase)
        counts = operators(folder, framework)
        for called in HELD_AGAINST_HAND:  # replaces the one by hand
            step(folder, BY_HAND[called], KERNELS[BY_HAND[called]], called, framework)
            for phase in PHASES:
                found[f"by hand {called} {phase}"] = verdict(first, called, phase)
    print(json.dumps({"verdicts": found, "operators": counts}))


if __name__ == "__main__":
    main()
