"""A benchmark made concrete: its shapes, its weights and its batches.

There are three kinds: a language model (tokens -> embedding -> LSTM layers -> projection to logits;
document 001, lines 63-73; with a state carried from batch to batch, document 004), bare LSTM layers (dense input -> hidden states; document 002), and a classifier
of sequences or of their steps (dense input -> LSTM layers -> projection to logits; document 003).
"""

import copy
import json
import math
import os
from collections import OrderedDict

import numpy as np

from measurement.cells import CELLS, PARTS
from measurement.shapes import Shapes

WEIGHT_RANGE = 0.1  # unless given; at 0.5, rounding alone separates correct implementations by 4e-3
BLANK = 0  # the output that CTC takes for "no label"
BOUNDARY = 64  # bytes that dense inputs are aligned to
FRESH = 16  # dense batches that lie in memory side by side


class Workload(Shapes):
    """Sizes (see Shapes) and data of one benchmark.

    More attributes: lengths (int64 [B], the steps of each sequence; None where all have T); optimizer
    (dict: name, learning_rate and what else it has; None for bare layers); departure from the protocol
    (str, see departures.py, or None); isa (the instruction set it is held to, see instructions.py, or None); kernel (folder of what earlier rules built for this cell, or None).
    """

    def __init__(self, benchmark, corpus, seed, batch=None, threads=1, kernel=None):
        """benchmark: its entry in config/documents; corpus: folder of tokens.npy; batch overrides B."""
        super(Workload, self).__init__(benchmark, batch, threads)
        self.lengths = None
        if "shortest" in benchmark:
            self.lengths = np.linspace(benchmark["shortest"], self.length, self.batch).astype(
                np.int64
            )
        self.carried = benchmark.get("state") == "carried"
        self.dropout = benchmark.get("dropout", 0.0)
        self.optimizer = benchmark.get("optimizer")
        self.departure = benchmark.get("departure")
        self.isa = benchmark.get("isa")
        self.kernel = kernel
        self._labels = benchmark.get("labels")
        self._weight_range = benchmark.get("weight_range", WEIGHT_RANGE)
        self._corpus = corpus
        self._seed = seed

    def changed(self, **attributes):
        """The same workload with other attributes, such as a check's `dropout`."""
        other = copy.copy(self)
        other.__dict__.update(attributes)
        return other

    def weights(self):
        """Draw the initial weights, {name: float32 array}, uniform in the benchmark's range from the seed;
        a cell's vectors around the values that the cell gives them."""
        random, bound = np.random.RandomState(self._seed), self._weight_range
        weights, cell = OrderedDict(), CELLS[self.cell]
        for name, shape in self.shapes().items():
            drawn = random.uniform(-bound, bound, shape)
            if name.endswith(".vectors"):
                drawn = drawn + np.repeat(cell.around, self.hidden)
            weights[name] = drawn.astype(np.float32)
        return weights

    def windows(self):
        """The training stream, and where its windows of T tokens start (every `stride` tokens)."""
        tokens = np.load(os.path.join(self._corpus, "train.npy"), mmap_mode="r")
        with open(os.path.join(self._corpus, "corpus.json")) as stream:
            stride = json.load(stream)["stride"]
        return tokens, np.arange(0, len(tokens) - self.length, stride)

    def window_count(self):
        """Windows of the training stream; 0 where input is dense or the stream is read in one go."""
        return len(self.windows()[1]) if self.vocabulary and not self.carried else 0

    def epoch_batches(self, split="train"):
        """Batches of an epoch, where a state is carried: those that every parallel stream is long enough for."""
        tokens = np.load(os.path.join(self._corpus, split + ".npy"), mmap_mode="r")
        return (len(tokens) // self.batch - 1) // self.length

    def streams(self, split):
        """A split of the corpus cut into B streams of equal length, int32 [tokens, B]; up to B - 1 tokens are left
        over."""
        tokens = np.load(os.path.join(self._corpus, split + ".npy"))
        return tokens[: len(tokens) // self.batch * self.batch].reshape(self.batch, -1).T

    def batches(self, split="train"):
        """Yield (inputs, targets) for ever; what they are depends on the loss.

        `ce` (language model), mean cross-entropy over all tokens, and `ce-sum`, its sum over steps and mean over
        sequences: int64 [T, B] each; the targets are the inputs one token later. They are windows of the training
        stream in an order shuffled by the seed; or where a state is carried, `split` of the corpus is cut into B
        streams of equal length, which batches go through side by side, T tokens at a time, again and again. The
        state is zero where an epoch begins, every `epoch_batches` (see Runner.reset). Otherwise inputs are float32
        [T, B, D], uniform in +-1, windows of a stream without end, each a step or a few on from the one before it: no
        batch comes twice, so that remembering one is of no use. An array is overwritten after FRESH batches. Targets
        are, for
        - `ce-last`, mean cross-entropy of the outputs at step T - 1 (document 003 takes that step of both
          directions, so the reverse one has seen one step there): classes, int64 [B];
        - `ctc`, mean over sequences of the connectionist temporal classification loss: int64 [B, labels],
          none of them BLANK. Sequence b has lengths[b] steps; what follows is noise that must not count;
        - no loss (bare layers): None.
        """
        if not self.vocabulary:
            random = np.random.RandomState(self._seed)
            for inputs in self._dense_windows(random):
                yield inputs, self.dense_targets(random)
        if self.carried:
            streams = self.streams(split)
            while True:
                for number in range(self.epoch_batches(split)):
                    first = number * self.length
                    window = streams[first : first + self.length + 1].astype(np.int64, order="C")
                    yield window[:-1], window[1:]
        tokens, starts = self.windows()
        random = np.random.RandomState(self._seed)
        while True:
            order = random.permutation(starts)
            for first in range(0, len(order) - self.batch + 1, self.batch):
                columns = order[first : first + self.batch]
                index = np.arange(self.length + 1)[:, None] + columns[None, :]  # [T + 1, B]
                window = tokens[index].astype(np.int64)
                yield (np.ascontiguousarray(window[:-1]), np.ascontiguousarray(window[1:]))

    def _dense_windows(self, random):
        """Yield float32 [T, B, D] for ever: windows of one buffer, which a step is added to for each."""
        step = self.batch * self.features
        apart = BOUNDARY // math.gcd(
            4 * step, BOUNDARY
        )  # steps from one aligned window to the next
        buffer = aligned_zeros((self.length + FRESH * apart, self.batch, self.features))
        filled = 0
        while True:
            for first in range(0, FRESH * apart, apart):
                end = first + self.length
                buffer[filled:end] = random.uniform(-1, 1, (end - filled,) + buffer.shape[1:])
                filled = end
                yield buffer[first:end]
            filled = max(0, self.length - apart)
            buffer[:filled] = buffer[end - filled : end].copy()

    def dense_targets(self, random):
        """Targets for dense input, drawn anew; None where there is no loss."""
        if self.loss == "ce-last":
            return random.randint(0, self.outputs, self.batch).astype(np.int64)
        if self.loss == "ctc":
            shape = (self.batch, self._labels)
            return random.randint(BLANK + 1, self.outputs, shape).astype(np.int64)
        return None


def aligned(array):
    """A float32 copy whose memory starts at a multiple of BOUNDARY bytes: compiled kernels take it as it is,
    without a copy of their own."""
    copy = aligned_zeros(array.shape)
    copy[...] = array
    return copy


def aligned_zeros(shape, dtype=np.float32):
    """Zeros whose memory starts at a multiple of BOUNDARY bytes."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + BOUNDARY, dtype=np.uint8)
    start = -memory.ctypes.data % BOUNDARY
    return memory[start : start + size].view(dtype).reshape(shape)


def layer_prefixes(weights):
    """["lstm.0.", "lstm.1.", ...] of named weights, bottom up; where layers run both ways ["lstm.0.",
    "lstm.0.reverse.", "lstm.1.", ...]."""
    found, layer = [], 0
    while "lstm.%d.input" % layer in weights:
        pair = ["lstm.%d." % layer, "lstm.%d.reverse." % layer]
        found += [prefix for prefix in pair if prefix + "input" in weights]
        layer += 1
    return found


def layer_weights(weights):
    """[(input [D, 4H], recurrent [H, 4H], bias [4H]), ...] of named weights, one entry for each of
    `layer_prefixes`; of a cell with vectors a fourth one, [N H]."""
    return [
        tuple(weights[prefix + part] for part in PARTS if prefix + part in weights)
        for prefix in layer_prefixes(weights)
    ]


def reversal(length, batch, lengths=None):
    """int64 [T, B]: the step of each sequence that comes at place t when it is read backwards. Steps after a
    sequence's end (lengths [B]; None: all have T steps) keep their places, so it is its own inverse."""
    steps = np.arange(length)[:, None]
    ends = np.full(batch, length) if lengths is None else lengths
    return np.where(steps < ends, ends - 1 - steps, steps)
