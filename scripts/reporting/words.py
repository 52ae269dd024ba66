"""The words that pages use: one for each level of flexibility, and a name for each implementation and machine."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from plan import own
from reporting import processors

PHASES = {"training": "Training", "forward": "Inference"}
LEVELS = {
    "operators": "any operator of a step can be changed; the loop over steps is Python's, run at every batch or traced once (tf.function, jit)",
    "operators in a loop": "any operator of a step can be changed, in the framework's symbolic loop",
    "compiled": "any operator that the compiler accepts",
    "cell kernel": "one kernel a step: how steps and layers are connected can be changed, the cell cannot",
    "generated kernel": "the cell can be changed; the loop around it is generated, and its structure is fixed",
    "fused kernel": "one kernel for all steps: nothing can be changed",
}
"""What a user can change without writing a kernel, most first; config/implementations.yaml says which row is which."""


def text(corpus: Mapping) -> str:
    """The title of a record's text, without an article."""
    title = corpus.get("title") or "Penn Treebank"  # old records have none
    return title.removeprefix("the ")


def names(entries: Iterable[Mapping]) -> dict[str, str]:
    """{implementation: name} by which any two are told apart: its label, with its level where others share that."""
    entries = list(entries)
    shared = Counter(entry["label"] for entry in entries)

    def name(entry: Mapping) -> str:
        level = entry["family"] if entry["family"] == "cuDNN" else entry.get("flexibility", "")
        return entry["label"] + (f", {level}" if shared[entry["label"]] > 1 else "")

    return {entry["implementation"]: name(entry) for entry in entries}


def machines(found: Iterable[tuple[str, Mapping | None]], in_full: bool = False) -> dict[str, str]:
    """{machine: name} of (machine, its facts): what a reader knows it by; two of a kind keep the end of theirs. Of several
    the beginning of their names, `AMD Zen 3`, and of their GPUs', `AMD Zen 3 + H200`, where that tells them apart, unless
    they are to be `in_full`."""
    facts = dict(found)
    called = {machine: processors.name(own) or machine for machine, own in facts.items()}
    brief = {machine: short(name, facts[machine] or {}) for machine, name in called.items()}
    if not in_full and len({*brief.values()}) == len(brief) > 1:
        return brief
    counts = Counter(called.values())
    return {
        machine: name if counts[name] == 1 else f"{name} ({machine[-6:]})"
        for machine, name in called.items()
    }


def short(name: str, facts: Mapping) -> str:
    gpus = [gpu["name"].removeprefix("NVIDIA ") for gpu in facts.get("gpus", [])[:1]]
    return " + ".join([re.split(" [(]|, ", name)[0], *gpus])


def protocol(found: Mapping, threads: Sequence[int]) -> str:
    """How a document's cells are timed, in a sentence; threads: what its rows ran with."""
    warm, processes = found["warmup_batches"], found["processes"]
    text = f"{processes} process{'es' * (processes > 1)} of {warm} warm-up batch{'es' * (warm != 1)} and "
    most = f", up to {found['most_s']} s" if found.get("most_s") is not None else ""
    if "rounds" in found:
        more = found["most_rounds"] > found["rounds"]
        further = f", up to {found['most_rounds']} turns where intervals are wide" * more
        text += f"{found['rounds']} turns of {found['look_s']:g} s{further}, in random order"
    else:  # of older records
        text += f"{found['timed_batches']} timed ones{most}"
    if found["most_processes"] > processes:
        text += f"; up to {found['most_processes']} processes where they may decide a comparison"
    return f"{text}; {', '.join(map(str, threads or ['?']))} threads; seed {found['seed']}"


def between(first: str, last: str) -> str:
    """`a to b`; `a` where both ends are the same."""
    return first if first == last else f"{first} to {last}"


def listed(found: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`; "" of nothing."""
    *first, last = ["", *found]
    return f"{', '.join(first[1:])} and {last}" if first[1:] else last


def cited(number: str, origin: Mapping) -> str:
    """A published document's number, as a link to where it stands, or with the words that it is not public."""
    link = origin.get("links", {}).get(number)
    return f"[{number}]({link})" if link else f"{number} (not publicly available)"


CELLS = {
    "lstm": "LSTM",
    "gru": "GRU",
    "coupled": "coupled gates",
    "peephole": "peepholes",
    "layer-norm": "layer norm",
    "slstm": "sLSTM",
}
"""Recurrent cells (measurement/cells.py), as pages call them."""


def cell(name: str) -> str:
    """What pages call a cell; one of somebody's own (`own.my_cell`) by its own name."""
    return CELLS.get(name) or own.name_of(name)


DEPARTURES = {
    "fed-before": "input on the device before timing starts",
    "unsynchronised": "timing stops without waiting for the device",
    "fetched": "result copied to the host inside the timed region",
    "gradients-recorded": "inference with gradient recording on",
    "denormals": "denormals not flushed to zero",
    "default-malloc": "default malloc settings (glibc)",
}
"""What departures from the protocol (measurement/departures.py) change."""


def shape(of: Mapping) -> str:
    """A benchmark in a line: what its numbers are of."""
    parts = [f"batch {of['batch']}", f"{of['length']} steps", f"{of['hidden']} units"]
    layers = of.get("layers", 1)
    parts += [f"{layers} layers"] if layers > 1 else []
    parts += [f"vocabulary of {of['vocabulary']:,}"] if "vocabulary" in of else []
    parts += ["both directions"] if of.get("bidirectional") else []
    parts += [cell(of["cell"])] if "cell" in of else []
    parts += [of["data_type"]] if "data_type" in of else []
    parts += [f"{of['threads']} thread{'s' * (of['threads'] > 1)}"] if "threads" in of else []
    parts += [f"{of['isa'].upper()} only"] if "isa" in of else []
    parts += [DEPARTURES[of["departure"]]] if of.get("departure") else []
    by_sgd = "baseline" in of and of.get("optimizer", {}).get("name") == "sgd"
    parts += ["by SGD"] if by_sgd else []
    return ", ".join(parts)
