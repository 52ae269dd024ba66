"""A benchmark made concrete: its shapes, its weights and its batches.

There are two kinds: a language model (tokens -> embedding -> LSTM layers -> projection to logits;
document 001, lines 63-73) and bare LSTM layers (dense input -> hidden states; document 002).
"""

import json
import os
from collections import OrderedDict

import numpy as np

WEIGHT_RANGE = 0.1  # at 0.5, rounding alone separates correct float32 implementations by 4e-3


class Workload(object):
    """Shapes and data of one benchmark.

    Attributes: vocabulary V (None for bare layers), features D (width of the first layer's input: a
    token's vector, or the dense input), layers, hidden H, length T, batch B, threads (CPU threads to
    use), all int; optimizer (dict: name, learning_rate and what else it has; None for bare layers);
    departure from the protocol (str, see departures.py, or None); kernel (folder of what earlier rules
    built for this cell, or None).
    """

    def __init__(self, benchmark, corpus, seed, batch=None, threads=1, kernel=None):
        """benchmark: its entry in config/documents; corpus: folder of tokens.npy; batch overrides B."""
        self.vocabulary = benchmark.get("vocabulary")
        self.features = benchmark["embedding" if self.vocabulary else "features"]
        self.layers = benchmark["layers"]
        self.hidden = benchmark["hidden"]
        self.length = benchmark["length"]
        self.batch = batch or benchmark["batch"]
        self.optimizer = benchmark.get("optimizer")
        self.departure = benchmark.get("departure")
        self.threads = threads
        self.kernel = kernel
        self._corpus = corpus
        self._seed = seed

    def weights(self):
        """Draw the initial weights, {name: float32 array}, uniform in +-0.1 from the seed.

        embedding [V, D]; for each layer l (after the first, D = H) lstm.l.input [D, 4H],
        lstm.l.recurrent [H, 4H], lstm.l.bias [4H], gates i, f, g, o; projection.weight [H, V],
        projection.bias [V]. Bare layers have those of their layers only.
        """
        random = np.random.RandomState(self._seed)
        hidden = self.hidden
        shapes = OrderedDict()
        if self.vocabulary:
            shapes["embedding"] = (self.vocabulary, self.features)
        for layer in range(self.layers):
            depth = hidden if layer else self.features
            shapes["lstm.%d.input" % layer] = (depth, 4 * hidden)
            shapes["lstm.%d.recurrent" % layer] = (hidden, 4 * hidden)
            shapes["lstm.%d.bias" % layer] = (4 * hidden,)
        if self.vocabulary:
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

    def window_count(self):
        """Windows of the training stream; 0 for bare layers."""
        return len(self.windows()[1]) if self.vocabulary else 0

    def batches(self):
        """Yield (inputs, targets) for ever.

        Language model: int64 [T, B] each, windows in an order shuffled by the seed; the targets are the
        inputs one token later. Bare layers: float32 [T, B, D], one batch again and again, and None.
        """
        if not self.vocabulary:
            shape = (self.length, self.batch, self.features)
            inputs = aligned(np.random.RandomState(self._seed).uniform(-1, 1, shape))
            while True:
                yield inputs, None
        tokens, starts = self.windows()
        random = np.random.RandomState(self._seed)
        while True:
            order = random.permutation(starts)
            for first in range(0, len(order) - self.batch + 1, self.batch):
                columns = order[first : first + self.batch]
                index = np.arange(self.length + 1)[:, None] + columns[None, :]  # [T + 1, B]
                window = tokens[index].astype(np.int64)
                yield (np.ascontiguousarray(window[:-1]), np.ascontiguousarray(window[1:]))


def aligned(array, boundary=64):
    """A float32 copy whose memory starts at a multiple of `boundary` bytes: compiled kernels take it as it
    is, without a copy of their own."""
    memory = np.empty(array.size * 4 + boundary, dtype=np.uint8)
    start = -memory.ctypes.data % boundary
    copy = memory[start : start + array.size * 4].view(np.float32).reshape(array.shape)
    copy[...] = array
    return copy


def layer_weights(weights):
    """[(input [D, 4H], recurrent [H, 4H], bias [4H]), ...], one entry a layer, from named weights."""
    layers = []
    while "lstm.%d.input" % len(layers) in weights:
        prefix = "lstm.%d." % len(layers)
        layers.append(tuple(weights[prefix + part] for part in ("input", "recurrent", "bias")))
    return layers
