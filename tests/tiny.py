"""A benchmark and a corpus small enough for a test. Python 3.6 syntax: environments run this too."""

import json
import os

import numpy as np

from measurement.workload import Workload

BENCHMARK = {
    "vocabulary": 11,
    "embedding": 5,
    "layers": 2,
    "hidden": 4,
    "length": 4,
    "batch": 3,
    "optimizer": {
        "name": "adam",
        "learning_rate": 0.001,
        "beta_1": 0.9,
        "beta_2": 0.999,
        "epsilon": 1.0e-8,
    },
}
STRIDE = 3
# What carries its state adds to the benchmark; its gradients are larger than the limit.
CARRIED = {
    "state": "carried",
    "loss": "ce-sum",
    "optimizer": {"name": "sgd", "learning_rate": 1.0, "clip_norm": 0.5},
}
# The kinds of classifiers: two layers both ways, so that a mix-up of directions shows in the second one.
CLASSIFIER = {
    "features": 5,
    "layers": 2,
    "hidden": 4,
    "bidirectional": True,
    "length": 9,
    "batch": 3,
    "outputs": 6,
    "loss": "ce-last",
    "optimizer": BENCHMARK["optimizer"],
}
CLASSIFIERS = {
    "one-way": dict(CLASSIFIER, layers=1, bidirectional=False),
    "both-ways": CLASSIFIER,
    "ctc": dict(CLASSIFIER, loss="ctc", shortest=6, labels=3),
    # As long as 1x320-ce-short's: with weights as they are timed, its first 60 steps change no gradient by 1e-8.
    "long": dict(CLASSIFIER, layers=1, bidirectional=False, length=100),
}
KEPT_STEPS = 40  # of "long" that a wrong style propagates back through
# With dropout too; wide enough to tell its rate.
DROPPING = dict(CARRIED, dropout=0.35, embedding=64, hidden=64)


def write_corpus(folder, tokens=200):
    """Token streams as tokenize_corpus.py leaves them, in `folder`; returns that for training."""
    stream = np.random.RandomState(1).randint(0, BENCHMARK["vocabulary"], tokens).astype(np.int32)
    np.save(os.path.join(str(folder), "train.npy"), stream)
    np.save(os.path.join(str(folder), "valid.npy"), stream[::-1])
    with open(os.path.join(str(folder), "corpus.json"), "w") as description:
        json.dump({"stride": STRIDE}, description)
    return stream


def workload(folder, seed=0, threads=1, **changes):
    """The tiny benchmark, with changes, over the corpus in `folder`."""
    return Workload(dict(BENCHMARK, **changes), str(folder), seed, threads=threads)


def bare_layers(seed=0, threads=1):
    """Two bare layers on dense input."""
    shape = {"features": 5, "layers": 2, "hidden": 8, "length": 4, "batch": 3}
    return Workload(shape, None, seed, threads=threads)


def classifier(kind, seed=0, threads=1, **changes):
    """One of CLASSIFIERS, with changes."""
    return Workload(dict(CLASSIFIERS[kind], **changes), None, seed, threads=threads)
