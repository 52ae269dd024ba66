"""A training run: an implementation trained from the seed, its perplexity at stated points, and checkpoints.

Perplexity is computed here, by the reference's forward pass on the weights that the implementation has come to:
implementations only train, and equal weights are equal perplexity.
"""

import hashlib
import json
import os
import sys
import time
import zipfile
import zlib

import numpy as np

from measurement import reference, timing
from measurement.record import whole

# What NumPy raises where a file is cut short, has other bytes, or is no file of its kind.
DAMAGES = (OSError, ValueError, KeyError, EOFError, AttributeError, zipfile.BadZipFile, zlib.error)
CHUNK = 20  # steps whose logits are held at a time


def perplexity(weights, workload, split):
    """exp of the mean cross-entropy over a split of the corpus, dropout off: each token given all those before it in
    its stream. The first token of each of the B streams is given.

    The reference in float32, sums in float64: it takes a third of float64's time, and rounding, 1e-8 here, is the same
    whoever trained.
    """
    streams, state, nats = workload.streams(split), {}, 0.0
    weight, bias = (weights["projection." + part] for part in ("weight", "bias"))
    buffer = np.empty((CHUNK * workload.batch, weight.shape[1]), np.float32)
    for first in range(0, len(streams) - 1, CHUNK):
        window = streams[first : first + CHUNK + 1]
        h = reference.hidden_states(weights, window[:-1], state=state, cell=workload.cell)
        h = h.reshape(-1, h.shape[-1])
        logits = np.dot(h, weight, out=buffer[: len(h)])
        logits += bias
        found = logits[np.arange(len(h)), window[1:].reshape(-1)]
        largest = logits.max(axis=1)
        logits -= largest[:, None]
        np.exp(logits, out=logits)
        nats += float(np.sum(np.log(logits.sum(axis=1, dtype=np.float64)) + largest - found))
    return float(np.exp(nats / streams[1:].size))


def digest(weights):
    """SHA-256 of named weights."""
    found = hashlib.sha256()
    for name in sorted(weights):
        found.update(name.encode() + np.ascontiguousarray(weights[name], np.float32).tobytes())
    return found.hexdigest()


class Checkpoint(object):
    """The file from which an interrupted run goes on, if the same run (`key`) left it."""

    def __init__(self, path, key):
        self._path, self._key = path, key

    def write(self, progress, weights, state):
        """progress: what goes into JSON; weights: {name: array}; state: [array, ...]."""
        about = np.array(json.dumps(dict(progress, key=self._key)))
        arrays = {"state.%d" % number: each for number, each in enumerate(state)}
        arrays.update(("weights." + name, value) for name, value in weights.items())
        with whole(self._path, "wb") as stream:
            np.savez(stream, about=about, **arrays)

    def read(self):
        """(progress, weights, state) as written; None without a file, or if it is damaged or another run's."""
        try:
            with np.load(self._path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            progress = json.loads(str(arrays.pop("about")))
            ours = progress.pop("key") == self._key
        except DAMAGES as error:
            if os.path.exists(self._path):
                said = "%s is damaged (%s); the training run starts afresh\n" % (self._path, error)
                sys.stderr.write(said)
            return None
        if not ours:
            return None
        count = sum(name.startswith("state.") for name in arrays)
        state = [arrays.pop("state.%d" % number) for number in range(count)]
        return progress, {name[len("weights.") :]: value for name, value in arrays.items()}, state


def train(build, workload, weights, protocol, checkpoint, progress):
    """Train `protocol["batches"]` batches (None: one epoch) with `build(workload, weights)`.

    Returns the runner and {"curve": [{"batch", "train_perplexity": over the batches so far, "valid_perplexity",
    "train_s": seconds of training so far, in all processes}], "epoch_batches", "resumed_at": batches after which
    an interrupted run went on, "weights_sha256"}. Goes on from the checkpoint if there is one, and leaves one every
    `protocol["checkpoint_batches"]` and at every point.
    """
    epoch = workload.epoch_batches()
    last = protocol["batches"] or epoch
    points = {point for point in protocol["points"] if point < last} | {last}
    done, state = {"batch": 0, "nats": 0.0, "train_s": 0.0, "curve": [], "resumed_at": []}, None
    found = checkpoint.read()
    if found:
        done, weights, state = found
        done["resumed_at"].append(done["batch"])
    runner = build(workload, weights)
    stream = timing.batches(workload, runner.reset)
    for _ in range(done["batch"]):
        next(stream)
    if state:
        runner.reset(state)
    steps = workload.length if workload.loss == "ce-sum" else 1
    while done["batch"] < last:
        inputs, targets = next(stream)
        start = time.perf_counter()
        loss = runner.loss_of(runner.step(inputs, targets)) / steps
        runner.synchronise()
        done["train_s"] += time.perf_counter() - start
        done["batch"] += 1
        done["nats"] += loss
        if not np.isfinite(loss):
            raise ArithmeticError("the loss is %g after %d batches" % (loss, done["batch"]))
        progress("batch %d/%d, loss %.4f" % (done["batch"], last, loss))
        if done["batch"] in points:
            done["curve"].append(
                {
                    "batch": done["batch"],
                    "train_perplexity": float(np.exp(done["nats"] / done["batch"])),
                    "valid_perplexity": perplexity(runner.parameters(), workload, "valid"),
                    "train_s": done["train_s"],
                }
            )
        if done["batch"] in points or done["batch"] % protocol["checkpoint_batches"] == 0:
            checkpoint.write(done, runner.parameters(), runner.state())
    return runner, {
        "curve": done["curve"],
        "resumed_at": done["resumed_at"],
        "epoch_batches": epoch,
        "weights_sha256": digest(runner.parameters()),
    }
