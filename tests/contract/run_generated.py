"""Check steps that were generated, in the styles of one framework (the argument), and print verdicts: of the six cells that have a
step by hand against that one's reference and results, of the examples against their own generated reference; and errors planted."""

import importlib
import json
import sys
import tempfile

from measurement import checking
from recurrent_cells.cells import CELLS as KERNELS
from recurrent_cells.cells.derivative import PARTIALS
from tests import tiny
from tests.contract.own_cells import BY_HAND, EXAMPLES, SAMPLE, registered, step

# Compilers take seconds a cell.
FEW = (*BY_HAND.values(), *SAMPLE)
STYLES = {
    "pytorch": {"fine_grained": None, "fine_grained_jit": FEW, "compiled": ("slstm", "sru")},
    "tensorflow": {"graph_while": FEW, "graph_xla": ("gru", "real_gated_lru")},
    "jax": {"scan": FEW, "fine_grained": ("gru", "sru", "rwkv")},
}


def workload(cell):
    return tiny.classifier("one-way", cell=cell, hidden=16, layers=2)


def built(style, cell, phase):
    work = workload(cell)
    return style.build(work, work.weights(), "cpu", phase), work


def results(style, cell, phase):
    """Of one batch: {name: array}."""
    runner, work = built(style, cell, phase)
    found = runner.results(runner.step(*runner.laid_out(*next(work.batches()))))
    gradients = found.pop("gradients", {})
    return {**found, **gradients}


def verdict(style, cell, phase):
    work = workload(cell)
    try:
        found = checking.check_implementation(
            lambda work, weights: style.build(work, weights, "cpu", phase),
            *(work, work.weights(), phase),
            tolerance=1e-4,
            steps=3,
        )[1]
    except RuntimeError as error:
        return {"status": "failed", "reason": str(error)}
    return {
        "status": found["status"],
        "reason": found["reason"],
        "error": max(found["errors"].values()),
    }


def wrong(text):
    """A forget gate with another function."""
    assert "sigmoid(f" in text
    return text.replace("sigmoid(f", "tanh(f")


def main():
    framework, found = sys.argv[1], {}
    with tempfile.TemporaryDirectory() as folder:
        for called, name in BY_HAND.items():
            if called == "lstm" and framework == "pytorch":
                continue  # its styles have an LSTM of their own
            for style, only in STYLES[framework].items():
                if only and name not in only:
                    continue
                module = importlib.import_module(f"implementations.{framework}.{style}")
                for phase in ("forward", "training"):
                    by_hand = results(module, called, phase)
                    before = step(folder, name, KERNELS[name], called, framework)
                    one = verdict(module, called, phase)
                    generated = results(module, called, phase)
                    table = importlib.import_module(f"implementations.{framework}.cells")
                    table = table.CELLS if framework == "tensorflow" else table.STEPS
                    dict.__setitem__(table, called, before)
                    one["apart"] = max(
                        checking.relative_error(generated[key], by_hand[key]) for key in by_hand
                    )
                    found[f"by hand {style} {name} {phase}"] = one
        for name in EXAMPLES:
            called = registered(folder, name, framework)
            for style, only in STYLES[framework].items():
                if only and name not in only:
                    continue
                module = importlib.import_module(f"implementations.{framework}.{style}")
                for phase in ("forward", "training"):
                    found[f"example {style} {name} {phase}"] = verdict(module, called, phase)
        style = importlib.import_module(
            f"implementations.{framework}.{next(iter(STYLES[framework]))}"
        )
        for phase in ("forward", "training"):
            called = registered(folder, "sru", framework, wrong)
            found[f"planted step {phase}"] = verdict(style, called, phase)
            right = PARTIALS["tanh"]
            PARTIALS["tanh"] = lambda one, a: (1.0 - one,)
            called = registered(folder, "janet", framework)
            found[f"planted rule {phase}"] = verdict(style, called, phase)
            PARTIALS["tanh"] = right
    print(json.dumps(found))


if __name__ == "__main__":
    main()
