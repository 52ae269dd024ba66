"""A benchmark made concrete: its shapes, its weights and its batches.

Source: document 001 (the stacked LM on PTB), lines 63-73.
"""

import json
import os
from collections import OrderedDict

import numpy as np

WEIGHT_RANGE = 0.1  # at 0.5, rounding alone separates correct float32 implementations by 4e-3


class Workload(object):
    """A language model's shapes and data.

    Attributes: vocabulary V, embedding E, layers, hidden H, length T, batch B (all int), optimizer
    (dict: learning_rate, beta_1, beta_2, epsilon) and threads (int, CPU threads to use).
    """

    def __init__(self, benchmark, corpus, seed, batch=None, threads=1):
        """benchmark: its entry in config/documents; corpus: folder of tokens.npy; batch overrides B."""
        self.vocabulary = benchmark["vocabulary"]
        self.embedding = benchmark["embedding"]
        self.layers = benchmark["layers"]
        self.hidden = benchmark["hidden"]
        self.length = benchmark["length"]
        self.batch = batch or benchmark["batch"]
        self.optimizer = benchmark["optimizer"]
        self.threads = threads
        self._corpus = corpus
        self._seed = seed

    def weights(self):
        """Draw the initial weights, {name: float32 array}, uniform in +-0.1 from the seed.

        embedding [V, E]; for each layer l (D = E for the first, H after it) lstm.l.input [D, 4H],
        lstm.l.recurrent [H, 4H], lstm.l.bias [4H], gates i, f, g, o; projection.weight [H, V],
        projection.bias [V].
        """
        random = np.random.RandomState(self._seed)
        hidden = self.hidden
        shapes = OrderedDict([("embedding", (self.vocabulary, self.embedding))])
        for layer in range(self.layers):
            depth = hidden if layer else self.embedding
            shapes["lstm.%d.input" % layer] = (depth, 4 * hidden)
            shapes["lstm.%d.recurrent" % layer] = (hidden, 4 * hidden)
            shapes["lstm.%d.bias" % layer] = (4 * hidden,)
        shapes["projection.weight"] = (hidden, self.vocabulary)
        shapes["projection.bias"] = (self.vocabulary,)
        return OrderedDict(
            (name, random.uniform(-WEIGHT_RANGE, WEIGHT_RANGE, shape).astype(np.float32))
            for name, shape in shapes.items()
        )

    def windows(self):
        """The training stream, and where its windows of T tokens start (every `stride` tokens)."""
        tokens = np.load(os.path.join(self._corpus, "train.npy"), mmap_mode="r")
        with open(os.path.join(self._corpus, "corpus.json")) as stream:
            stride = json.load(stream)["stride"]
        return tokens, np.arange(0, len(tokens) - self.length, stride)

    def batches(self):
        """Yield (inputs, targets), int64 [T, B] each, for ever: windows in an order shuffled by the
        seed; the targets are the inputs one token later."""
        tokens, starts = self.windows()
        random = np.random.RandomState(self._seed)
        while True:
            order = random.permutation(starts)
            for first in range(0, len(order) - self.batch + 1, self.batch):
                columns = order[first : first + self.batch]
                index = np.arange(self.length + 1)[:, None] + columns[None, :]  # [T + 1, B]
                window = tokens[index].astype(np.int64)
                yield (np.ascontiguousarray(window[:-1]), np.ascontiguousarray(window[1:]))


def layer_weights(weights):
    """[(input [D, 4H], recurrent [H, 4H], bias [4H]), ...], one entry a layer, from named weights."""
    layers = []
    while "lstm.%d.input" % len(layers) in weights:
        prefix = "lstm.%d." % len(layers)
        layers.append(tuple(weights[prefix + part] for part in ("input", "recurrent", "bias")))
    return layers
