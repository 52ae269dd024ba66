"""The gate before every clock: an implementation against the float64 reference.

What is checked is the very `step` that is timed, over several consecutive batches: compilers that
profile first and optimise later (TorchScript) would pass a check of the first batch alone. Each batch
is compared from the parameters that the implementation itself held before it, so that rounding does
not add up and the tolerance can stay tight. A state that is carried from batch to batch is the reference's own, so that
one which an implementation loses or spoils shows in the next batch.

Checked are weights of their own (`remembering`), with which every step of a sequence counts: with those that are timed a
state is halved at every step, and a gradient that stops 40 steps before the end is right to the tenth digit.
"""

import itertools

import numpy as np

from measurement import gradient_check, memory_gate, precision, reference, timing
from measurement.cells import CELLS, columns, parts
from measurement.contract import Unsupported
from measurement.reference import relative_error
from measurement.workload import layer_prefixes

# Of the norm that clipped gradients have. PyTorch's own norm adds up float32 in float32 on a CPU: at 2 million weights
# it was 7e-4 short, at 50 million 2e-3, and with 1.3 5e-3 (github.com/pytorch/pytorch/issues/68326); TensorFlow 1.8's
# 3e-4 at 20 million.
CLIP_TOLERANCE = 1e-2
# What is added to biases and vectors of a cell that small weights leave nearly alike: exponential gates are all 1, and their
# stabiliser 0, where their sums are; and what peepholes see is small. One that opens the forget gate as well as the input
# gate lets the memory feed itself: 100 steps then amplify float32's rounding to 6e-4 of a gradient.
APART = {
    "slstm": {"i": 1.0, "f": -1.0},
    "peephole": {"see_i": 1.0, "see_f": -1.0, "see_o": 8.0},
}
DROPOUT_STEPS = 4
DROPOUT_DEVIATIONS = 5  # standard deviations that the share of dropped elements may be off


def remembering(weights, length, cell="lstm"):
    """Weights for a check: every second unit of a layer keeps what it has seen, over all `length` steps.

    Its forget gate is open (biased by ln T + 1: 0.7 of a first step is left at the last one), its input gate nearly
    closed (by -ln T / 2, or T inputs would drive it out of the range of tanh) where the cell has one, and what it hears
    of the state is damped (x 0.2). An exponential forget gate keeps where its sum is 0: weights of it are divided by
    sqrt(T), or its sums would wander. The other units stay as they are, so that one pass shows errors in both, but for
    what small weights would hide (APART). A gradient that misses one step of 1,000, the first or the last, is then off by 1e-3 or more (one layer, the loss on the last step).
    """
    kind, found = CELLS[cell], dict(weights)
    names = {"bias": kind.biases, "vectors": kind.vectors}
    shifts = {kind.keeps: np.log(length) + 1.0, kind.takes: -0.5 * np.log(length)}
    if kind.keeps is None:
        shifts = memory_gate.shifts(cell, length)
    for prefix in layer_prefixes(weights):
        layer = {part: weights[prefix + part].copy() for part in parts(cell)}
        hidden = len(layer["recurrent"])

        def units(array, place, first=1, width=hidden):
            """Every second one of a gate, bias or vector."""
            return array[..., place * width + first : (place + 1) * width : 2]

        for place in range(columns(kind)):
            units(layer["recurrent"], place, width=hidden // kind.heads)[...] *= 0.2
        if cell == "slstm":
            for part in ("input", "recurrent", "bias"):
                units(layer[part], kind.gates.index(kind.keeps))[...] /= np.sqrt(length)
        for part in set(names) & set(layer):
            for place, name in enumerate(names[part]):
                if cell != "slstm":
                    units(layer[part], place)[...] += shifts.get(name, 0.0)
                units(layer[part], place, first=0)[...] += APART.get(cell, {}).get(name, 0.0)
        found.update((prefix + part, value) for part, value in layer.items())
    return found


def width(name, workload):
    """Columns of a gate in a weight: H, of a block-diagonal matrix's blocks fewer."""
    return workload.hidden // (CELLS[workload.cell].heads if name.endswith(".recurrent") else 1)


def gradient_error(name, value, expected, hidden):
    """The relative error of a gradient; of a layer's, the larger one of its two kinds of units (`remembering`), the
    gradients of one of which can be twenty times those of the other; of vectors, that of the worst one."""
    value = np.asarray(value)
    other = value.shape != expected.shape or not expected.size
    if not name.startswith("lstm.") or hidden < 2 or other:
        return relative_error(value, expected)
    value, expected = (
        each.reshape(-1, each.shape[-1] // hidden, hidden) for each in (value, expected)
    )
    places = range(value.shape[1]) if name.endswith(".vectors") else [slice(None)]
    return max(
        relative_error(value[:, place, kind::2], expected[:, place, kind::2])
        for kind in (0, 1)
        for place in places
    )


def update_error(before, after, expected):
    """Error of an update relative to its largest element, what float32 rounds a weight by left out:
    gradient descent moves some weights by little more than that."""
    rounding = np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64)
    excess = np.maximum(np.abs(after - expected) - rounding, 0.0)
    return relative_error(expected - before + excess, expected - before)


def check_forward(runner, workload, batches, weights, state):
    """{"output": worst relative error} over the batches. What comes after a sequence's end does not count.
    state: see reference.loss_and_gradients."""
    worst = 0.0
    for inputs, targets in batches:
        handle = runner.step(*timing.fed(runner, (inputs, targets), workload.departure))
        found = runner.results(handle)["output"]
        expected = runner.expected(inputs)
        if expected is None:
            expected = reference.output(
                weights, inputs, workload.loss, workload.lengths, state, workload.cell
            )
        if workload.lengths is not None:
            after = np.arange(workload.length)[:, None] >= workload.lengths  # [T, B]
            found, expected = (np.where(after[:, :, None], 0.0, each) for each in (found, expected))
        worst = max(worst, relative_error(found, expected))
    return {"output": worst}


def check_training(runner, workload, batches, weights, state):
    """Worst relative errors over the batches: {"loss", "gradient:<weight>"..., "update:<weight>"...}.
    state: see reference.loss_and_gradients.

    The update is held against the optimizer in float64 fed with the implementation's own gradients, which were
    themselves held against the reference: an element whose gradient is all rounding then cannot turn a
    correct optimizer into a wrong one.
    """
    errors = {}
    exact = reference.optimizer(workload.optimizer)
    before = reference.float64(runner.parameters())
    for name, value in weights.items():
        errors["initial:" + name] = relative_error(before[name], value)

    for inputs, targets in batches:
        handle = runner.step(*timing.fed(runner, (inputs, targets), workload.departure))
        found = runner.results(handle)
        after = reference.float64(runner.parameters())
        kind = workload.loss, workload.lengths, state
        loss, gradients = reference.loss_and_gradients(
            before, inputs, targets, *kind, cell=workload.cell
        )
        if not any(gradients[name].any() for name in gradients if name.startswith("lstm.")):
            raise Unsupported("every gradient of its weights is zero, so that nothing is trained")
        gradients = clipped(errors, "clip", gradients, found["gradients"], workload)
        expected = exact.update(before, found["gradients"])
        _note(errors, "loss", relative_error(found["loss"], loss))
        for name in weights:
            _note(
                errors,
                "gradient:" + name,
                gradient_error(
                    name, found["gradients"][name], gradients[name], width(name, workload)
                ),
            )
            _note(errors, "update:" + name, update_error(before[name], after[name], expected[name]))
        before = after
    return errors


def check_implementation(build, workload, weights, phase, tolerance, steps):
    """The whole gate for what `build` makes of a workload and weights. Returns a runner and what `check` found, with
    dropout off and, in training, on as well."""
    kept = precision.remembered(workload.data_type, workload.length)
    weights = remembering(weights, kept, workload.cell)
    runner = build(workload.changed(dropout=0.0), weights)
    found = check(runner, workload, weights, phase, tolerance, steps)
    if workload.dropout and phase == "training" and found["status"] == "ok":
        del runner  # two large models at a time would need twice the memory
        one_token = workload.changed(length=1, batch=1)
        runner = build(one_token, weights)
        found = check_dropout(runner, one_token, found, tolerance)
    if "." in workload.cell:
        found = witnessed(found, workload, weights)
    return runner, found


def witnessed(found, workload, weights):
    """What `check` found, and whether the reference of a cell whose steps were generated agrees with its own differences: an
    implementation that agrees with a wrong one is not right."""
    inputs, _ = next(workload.batches())
    errors = gradient_check.errors(reference.float64(weights), inputs, workload.cell)
    found = dict(found, errors=dict(found["errors"], **errors))
    worst = max(errors, key=lambda name: errors[name])
    if not errors[worst] <= gradient_check.TOLERANCE:
        reason = "the gradient that was derived of %s is off by %.2g from differences of its step"
        reason %= (workload.cell, errors[worst])
        found.update(status="incorrect", reason="%s (%s)" % (reason, worst))
    return found


def check_dropout(runner, workload, found, tolerance):
    """What `check` found with dropout off, and the same check with dropout on; `workload` has one token a batch.

    Masks are random, and frameworks draw different ones. With one token, a dropped element is a row of zeros in the
    gradient of the weights that it is multiplied by. So the masks of a step are read off its gradients, and its
    loss and gradients are held against the reference with these masks, as is the state, which must not be dropped.
    The share of dropped elements may differ from the rate by chance only. Adds errors called `dropout:...`,
    and "dropout", the share that was dropped in each place, bottom up.
    """
    places = ["lstm.%d.input" % layer for layer in range(workload.layers)] + ["projection.weight"]
    state, errors, drawn = {}, dict(found["errors"]), []
    for inputs, targets in _batches(runner, workload, state, DROPOUT_STEPS):
        before = runner.parameters()
        one = runner.results(runner.step(inputs, targets))
        kept = [one["gradients"][name].any(axis=1) for name in places]
        drawn.append(kept)
        masks = [mask[None, None] / (1.0 - workload.dropout) for mask in kept]
        loss, gradients = reference.loss_and_gradients(
            before, inputs, targets, workload.loss, None, state, masks, workload.cell
        )
        gradients = clipped(errors, "dropout:clip", gradients, one["gradients"], workload)
        _note(errors, "dropout:loss", relative_error(one["loss"], loss))
        for name, expected in gradients.items():
            error = gradient_error(name, one["gradients"][name], expected, width(name, workload))
            _note(errors, "dropout:gradient:" + name, error)
    result, rate = verdict(errors, tolerance), workload.dropout
    places = [np.array(masks) for masks in zip(*drawn)]  # [steps, D] each
    result["dropout"] = [float(1.0 - masks.mean()) for masks in places]
    if all((masks == masks[0]).all() for masks in places):
        result.update(status="incorrect", reason="dropout drops the same elements at every step")
    for share, masks in zip(result["dropout"], places):
        chance = np.sqrt(rate * (1.0 - rate) / masks.size)
        if abs(share - rate) > DROPOUT_DEVIATIONS * chance:
            reason = "dropout sets a share of %.3g to zero instead of %.3g" % (share, rate)
            result.update(status="incorrect", reason=reason)
    return result


def _batches(runner, workload, state, steps):
    """The first batches; where an epoch begins, the runner's state and the reference's become zero."""

    def reset():
        runner.reset()
        state.clear()

    return itertools.islice(timing.batches(workload, reset), steps)


def clipped(errors, name, gradients, found, workload):
    """The reference's gradients, clipped where the workload says so. The norm of those found is then an error of its
    own, and it is the norm of what they are compared with: an imprecise one makes a factor that all have in common."""
    limit, norm = workload.optimizer.get("clip_norm", np.inf), reference.norm(gradients)
    if norm < limit * (1.0 - CLIP_TOLERANCE):
        return gradients
    reached = reference.norm(reference.float64(found))
    _note(errors, name, relative_error(reached, min(norm, limit)))
    return {name: gradient * (reached / norm) for name, gradient in gradients.items()}


def _note(errors, name, error):
    errors[name] = max(errors.get(name, 0.0), error)


def check(runner, workload, weights, phase, tolerance, steps):
    """Run the check. Returns {"status", "reason", "errors", "gradient_error"}."""
    state = {} if workload.carried else None
    batches = _batches(runner, workload, state, steps)
    ceiling = runner.expected(None) is not None  # no LSTM: it has a result in training, too
    compared = check_forward if phase == "forward" or ceiling else check_training
    errors = compared(runner, workload, batches, weights, state)
    return verdict(errors, tolerance)


def verdict(errors, tolerance):
    """{"status", "reason", "errors", "gradient_error"} that errors by name come to. tolerance: of all, or a function
    of an error's name."""
    of = tolerance if callable(tolerance) else lambda name: tolerance
    limits = {name: CLIP_TOLERANCE if name.endswith("clip") else of(name) for name in errors}
    wrong = {name: error for name, error in errors.items() if not error <= limits[name]}
    gradients = [error for name, error in errors.items() if "gradient:" in name]
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
            limits[worst],
            "%d of %d quantities are wrong" % (len(wrong), len(errors)),
        )
    return result
