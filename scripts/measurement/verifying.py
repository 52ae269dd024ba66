"""What was timed is verified: one more batch after the last sample, in the same process and at the timed shape.

A check runs in another process and at a small batch. Here the very runner that was timed gets a batch made of a few
sequences, each many times over, in random order. A mean over its sequences, and the gradient of one, are those of the
few: so the float64 reference takes a second instead of a minute at any shape, and no float32 evaluation has to
stand in for it. Every column of the output is compared, and every one's share of the gradients counts.

And an implementation has to have finished when it says so. If its results, fetched at once, take longer than the same
results fetched again, by more than fetching varies, at the first try and at half of TRIES, the clock was read too
early.
"""

import itertools
import time

import numpy as np

from measurement import checking, precision, reference, timing
from measurement.workload import aligned

SEQUENCES = 4  # of a batch that differ
TOLERANCE = 1e-4  # of an output or a loss
GRADIENT_TOLERANCE = 1e-3  # sums of float32 over a batch, of weights trained meanwhile
DROPOUT_TOLERANCE = 0.1  # of a loss whose masks are not known
# With three, all late, one process of 568 was refused (TensorFlow 2.16's products, 256 MB of results). What it had
# computed was right and the row's other processes passed; it was not seen again, so why fetching took longer is unknown.
TRIES = 10
PAUSE_S = 0.1  # before the second try, and as much longer before each further one


def few(batch):
    """How many sequences of a batch differ: the largest divisor of its size up to SEQUENCES."""
    return max(count for count in range(1, SEQUENCES + 1) if batch % count == 0)


def repeated(workload, seed):
    """A few sequences and a batch of them: ((inputs, targets), (inputs, targets), order); sequence order[b] is at
    place b of the batch. Where each place has a length of its own (`workload.lengths`), all sequences differ."""
    count = workload.batch if workload.lengths is not None else few(workload.batch)
    order = np.arange(workload.batch) % count
    if workload.lengths is None:
        np.random.RandomState(seed).shuffle(order)
    own = workload.changed(batch=count, _seed=seed)
    first = own.epoch_batches() // 2 if workload.carried else 0  # none that has been timed
    small = inputs, targets = next(itertools.islice(own.batches(), first, None))
    if workload.vocabulary:
        large = [np.ascontiguousarray(each[:, order]) for each in small]
    else:
        large = aligned(inputs[:, order]), None if targets is None else targets[order]
    return small, tuple(large), order


def finished(runner, batch, departure):
    """Whether a step's results are there once it was waited for, and the results of the first step. Where the first are
    late, most of TRIES must not be: a row that is late now and then has samples that are too short."""
    late, first = 0, None
    for attempt in range(TRIES):
        time.sleep(PAUSE_S * attempt)
        given = timing.fed(runner, batch, departure)
        start = time.perf_counter()
        handle = runner.step(*given)
        runner.synchronise()
        stepped = time.perf_counter()
        found = runner.results(handle)
        fetched = time.perf_counter()
        runner.results(handle)
        again = time.perf_counter() - fetched
        first = first or found
        late += fetched - stepped >= 1.5 * again + 0.25 * (stepped - start) + 1e-3
        if not late:
            break
    return 2 * late < TRIES, first


def output_error(found, expected, order):
    """As checking.relative_error of an output [..., B, C] and that of the few sequences, a step at a time."""
    if found.shape != expected.shape[:-2] + (len(order), expected.shape[-1]):
        return float("inf")
    scale, worst = np.abs(expected).max(), 0.0
    found = found.reshape((-1,) + found.shape[-2:])
    expected = expected.reshape((-1,) + expected.shape[-2:]).astype(np.float32)
    for one, right in zip(found, expected):
        worst = max(worst, float(np.abs(one - right[order]).max()), key=_nan_last)
    return worst / scale if np.isfinite(worst) else float("inf")


def _nan_last(value):
    return (value != value, value)


def errors_of(workload, before, phase, found, batches):
    """Errors by name, as a check's. before: the weights of the step; batches: `repeated`."""
    (inputs, targets), _, order = batches
    state, loss, cell = {} if workload.carried else None, workload.loss, workload.cell
    if phase == "forward":
        expected = reference.output(before, inputs, loss, workload.lengths, state, cell)
        return {"output": output_error(found["output"], expected, order)}
    given = (before, inputs, targets, loss, workload.lengths, state)
    if workload.dropout or workload.lengths is not None:
        name = "dropout:loss" if workload.dropout else "loss"
        errors = {name: checking.relative_error(found["loss"], reference.loss(*given, cell=cell))}
        if "embedding" in before:  # which tokens there were, masks or none
            rows = np.zeros(len(before["embedding"]), dtype=bool)
            rows[inputs] = True
            errors["tokens"] = float((found["gradients"]["embedding"].any(axis=1) != rows).mean())
        return errors
    expected, gradients = reference.loss_and_gradients(*given, cell=cell)
    errors = {"loss": checking.relative_error(found["loss"], expected)}
    gradients = checking.clipped(errors, "clip", gradients, found["gradients"], workload)
    for name, gradient in gradients.items():
        error = checking.relative_error(found["gradients"][name], gradient)
        errors["gradient:" + name] = error
    return errors


def tolerance(name, workload, phase):
    """What an error of that name is held to."""
    own = precision.tolerance(workload.data_type, phase, workload.layers, workload.length)
    kinds = (("gradient:", GRADIENT_TOLERANCE), ("dropout:", DROPOUT_TOLERANCE))
    limit = next((limit for prefix, limit in kinds if name.startswith(prefix)), TOLERANCE)
    return max(limit, own)


def verify(runner, workload, weights, phase, seed=1):
    """{"status", "reason", "verification": {"errors", "finished", "seconds"}} of a runner that was timed; weights: the
    initial ones, which a forward step still has."""
    start = time.perf_counter()
    batches = repeated(workload, seed)
    if workload.carried:
        runner.reset()
    ceiling = runner.expected(batches[1][0])
    before = runner.parameters() if phase == "training" and ceiling is None else weights
    in_time, found = finished(runner, batches[1], workload.departure)
    if ceiling is not None:
        errors = {"output": checking.relative_error(found["output"], ceiling)}
    else:
        errors = errors_of(workload, before, phase, found, batches)
    result = checking.verdict(errors, lambda name: tolerance(name, workload, phase))
    reason = result["reason"] and "after the last timed batch, " + result["reason"]
    if not in_time:
        reason = "results were not complete when the clock was read: a step returns before it has finished"
    return {
        "status": "incorrect" if reason else "ok",
        "reason": reason,
        "verification": {
            "errors": errors,
            "finished": in_time,
            "seconds": time.perf_counter() - start,
        },
    }
