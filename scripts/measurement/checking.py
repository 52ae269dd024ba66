"""The gate before every clock: an implementation against the float64 reference.

What is checked is the very `step` that is timed, over several consecutive batches: compilers that
profile first and optimise later (TorchScript) would pass a check of the first batch alone. Each batch
is compared from the parameters that the implementation itself held before it, so that rounding does
not add up and the tolerance can stay tight.
"""

import itertools

import numpy as np

from measurement import reference, timing


def relative_error(value, expected):
    """Max-norm relative error, max|value - expected| / max|expected|; infinity for NaN or a bad shape."""
    value, expected = np.asarray(value, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    if value.shape != expected.shape or not np.isfinite(value).all():
        return float("inf")
    scale = np.abs(expected).max()
    return float(np.abs(value - expected).max() / (scale if scale > 0 else 1.0))


def update_error(before, after, expected):
    """Error of an update relative to its largest element, what float32 rounds a weight by left out:
    gradient descent moves some weights by little more than that."""
    rounding = np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64)
    excess = np.maximum(np.abs(after - expected) - rounding, 0.0)
    return relative_error(expected - before + excess, expected - before)


def check_forward(runner, workload, batches, weights):
    """{"output": worst relative error} over the batches. What comes after a sequence's end does not count."""
    worst = 0.0
    for inputs, targets in batches:
        handle = runner.step(*timing.fed(runner, (inputs, targets), workload.departure))
        found = runner.results(handle)["output"]
        expected = runner.expected(inputs)
        if expected is None:
            expected = reference.output(weights, inputs, workload.loss, workload.lengths)
        if workload.lengths is not None:
            after = np.arange(workload.length)[:, None] >= workload.lengths  # [T, B]
            found, expected = (np.where(after[:, :, None], 0.0, each) for each in (found, expected))
        worst = max(worst, relative_error(found, expected))
    return {"output": worst}


def check_training(runner, workload, batches, weights):
    """Worst relative errors over the batches: {"loss", "gradient:<weight>"..., "update:<weight>"...}.

    The update is held against the optimizer in float64 fed with the implementation's own gradients, which were
    themselves held against the reference: an element whose gradient is all rounding then cannot turn a
    correct optimizer into a wrong one.
    """
    errors = {}
    exact = reference.optimizer(workload.optimizer)
    before = reference.float64(runner.parameters())
    for name, value in weights.items():
        errors["initial:" + name] = relative_error(before[name], value)

    def note(name, error):
        errors[name] = max(errors.get(name, 0.0), error)

    for inputs, targets in batches:
        handle = runner.step(*timing.fed(runner, (inputs, targets), workload.departure))
        found = runner.results(handle)
        after = reference.float64(runner.parameters())
        loss, gradients = reference.loss_and_gradients(
            before, inputs, targets, workload.loss, workload.lengths
        )
        expected = exact.update(before, found["gradients"])
        note("loss", relative_error(found["loss"], loss))
        for name in weights:
            note("gradient:" + name, relative_error(found["gradients"][name], gradients[name]))
            note("update:" + name, update_error(before[name], after[name], expected[name]))
        before = after
    return errors


def check(runner, workload, weights, phase, tolerance, steps):
    """Run the check. Returns {"status", "reason", "errors", "gradient_error"}."""
    batches = itertools.islice(workload.batches(), steps)
    compared = check_forward if phase == "forward" else check_training
    errors = compared(runner, workload, batches, weights)
    wrong = {name: error for name, error in errors.items() if not error <= tolerance}
    gradients = [error for name, error in errors.items() if name.startswith("gradient:")]
    result = {
        "status": "incorrect" if wrong else "ok",
        "reason": "",
        "errors": errors,
        "gradient_error": max(gradients) if gradients else None,
    }
    if wrong:
        worst = max(wrong, key=lambda name: wrong[name])
        result["reason"] = "%s is off by %.2g from the float64 reference (tolerance %.0e); %s" % (
            worst,
            wrong[worst],
            tolerance,
            "%d of %d quantities are wrong" % (len(wrong), len(errors)),
        )
    return result
