"""The contract between an implementation and the harness.

An implementation is a module `implementations/<framework>/<style>.py` with one function

    build(workload, weights, device, phase) -> Runner

- `workload`: `measurement.workload.Workload`, the shapes and the optimizer's constants;
- `weights`: {name: float32 array} in the canonical layout of `Workload.weights`;
- `device`: "cpu" or "gpu";
- `phase`: "forward" (no loss, no gradient recording) or "training" (forward, loss, backward, update).

A module that computes in other formats than float32 says so in `DATA_TYPES`, e.g. `("float32", "bfloat16")`
(`workload.data_type`, measurement/precision.py): weights, gradients and updates stay float32; int8 is for inference. One that fixes something of
a single process when it is imported says `FORKS = False`: timings are forked from a process that has imported it.

`build` raises `Unsupported` with a reason a reader of the report understands, when this
implementation cannot run that workload on that device. It never falls back to another one.

Names and layouts are canonical everywhere in the harness: gates in the order i, f, g, o along the
last axis, one bias, time-major data [T, B, ...]. A runner whose framework wants another layout
converts in `build` and converts back in `results` and `parameters`. `Workload.shapes` names the weights,
`Workload.batches` says what inputs, targets and losses are.
"""


class Unsupported(Exception):
    """This implementation cannot run this workload on this device; the message says why."""


def require_cell(workload, cells=("lstm",), reason="it computes LSTMs only"):
    """Raise Unsupported unless the workload's cell (`measurement.cells`) is one of these."""
    if workload.cell not in cells:
        raise Unsupported(reason)


class Runner(object):
    """One implementation, built and ready to run batches."""

    def laid_out(self, inputs, targets):
        """A batch of `Workload.batches` as its framework's users have it in memory, [B, T, ...] for one: what `step` then
        takes. Done before the clock starts."""
        return inputs, targets

    def step(self, inputs, targets):
        """Run one batch and return a handle to its results, without waiting for the device.

        This very call is what is timed *and* what is checked; feeding the host arrays is part of it. Where the
        workload carries a state (`workload.carried`), it starts from the one that the last call left, kept on
        the device, into which no gradient flows.

        inputs, targets: host arrays as `laid_out` gives them (forward ignores `targets`).
        """
        raise NotImplementedError

    def reset(self, state=None):
        """Make the state that is carried from batch to batch zero, as an epoch begins, or what `state()` once gave.
        Called before the first step where the workload carries one, else never."""
        raise Unsupported("it carries no state from batch to batch")

    def state(self):
        """The state that is carried, as a list of host arrays in whatever layout: a checkpoint keeps it."""
        raise Unsupported("it carries no state from batch to batch")

    def on_device(self, inputs, targets):
        """A batch brought to the device, complete on return: `step` takes what this gives as it takes
        host arrays. Used only to measure what feeding costs."""
        raise Unsupported("its batches are fed within a step only")

    def synchronise(self):
        """Return when the device has finished everything that `step` started."""
        raise NotImplementedError

    def results(self, handle):
        """Fetch what a `step` computed, for the check; never timed.

        forward: {"output": logits [T, B, C]; [B, C], those of the last step, where the loss is `ce-last`; h
        [T, B, H] where the workload has bare layers}; anything after a sequence's end (`workload.lengths`)
        training: {"loss": float, "gradients": {name: array}}, in the canonical layout, the
        gradients being those that this step's update used: clipped, where the optimizer has `clip_norm`. The check
        compares their directions and, less strictly, their norm.
        """
        raise NotImplementedError

    def loss_of(self, handle):
        """The loss that a training `step` computed, once the device has."""
        return self.results(handle)["loss"]

    def expected(self, inputs):
        """What a forward `step` should give where that is not the reference's output: a ceiling, which
        does a workload's arithmetic without being an LSTM, says it here. None otherwise."""
        return None

    def parameters(self):
        """Current weights, {name: float32 array} in the canonical layout."""
        raise NotImplementedError

    def describe(self):
        """Facts for the record: {"framework", "framework_version", "build": {...}, "settings": {...}}.

        `build` is what the framework says of itself (BLAS, CUDA, cuDNN), `settings` what was set for
        the measurement (threads, flush-to-zero, TF32).
        """
        raise NotImplementedError

    def precision(self, inputs, targets):
        """Of a step: which operators really ran in the workload's format, as the library itself tells: {"bfloat16":
        {operator: how many}, "float32": {...}}. For the record of a check of a workload in another format than float32;
        None: it does not tell."""
        return None

    def helpers(self):
        """Ids of the processes that it has started: their CPU time and memory are its own. They end when it does."""
        return []

    def device_times(self, inputs, targets):
        """Where the seconds of a batch on a GPU go, or None where the framework does not tell: {"launched_s": of the host,
        until everything was queued; "span_s": from the first kernel queued to the last one's end, by the device's
        clock; "kernel_s" and "kernels": the sum of all kernels and copies, and how many there are; None where no
        profiler may look}. What a batch takes beyond `kernel_s` the device waits. Measured after the clock, in other
        batches: a profiler takes time."""
        return None

    def device_peak_bytes(self):
        """Peak of the device allocator in bytes; None where the process's own peak tells all (CPU)."""
        return None
