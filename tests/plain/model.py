"""The model that every plain style runs; a wrong style overrides `altered` or `kept`."""

import numpy as np

from measurement import reference
from measurement.contract import Runner, Unsupported
from measurement.workload import layer_prefixes


class Model(Runner):
    """The float64 reference on float32 weights."""

    def __init__(self, workload, weights, device, phase):
        if device != "cpu":
            raise Unsupported("NumPy runs on CPUs only")
        self._training = phase == "training"
        self._weights = dict(weights)
        self._kind = workload.loss, workload.lengths
        self._cell = workload.cell
        self._state = {} if workload.carried else None
        self._masks = None
        self._clip_norm = workload.optimizer.get("clip_norm")
        self._optimizer = reference.optimizer(workload.optimizer)

    def step(self, inputs, targets):
        if not self._training:
            output = reference.output(self._weights, inputs, *self._kind, self._state, self._cell)
            return {"output": self.altered({"output": output})["output"]}
        loss, gradients = reference.loss_and_gradients(
            self._weights, inputs, targets, *self._kind, self._state, self._masks, self._cell
        )
        found = self.altered(dict(reference.clipped(gradients, self._clip_norm), loss=loss))
        loss = found.pop("loss")
        updated = self.kept(self._optimizer.update(self._weights, found))
        self._weights = {name: value.astype(np.float32) for name, value in updated.items()}
        return {"loss": loss, "gradients": found}

    def reset(self, state=None):
        pairs = [tuple(state[first : first + 2]) for first in range(0, len(state or []), 2)]
        self._state = dict(zip(sorted(layer_prefixes(self._weights)), pairs, strict=False))

    def state(self):
        return [array for name in sorted(self._state) for array in self._state[name]]

    def altered(self, found):
        """Gradients and loss (or logits), by name, before anything uses them."""
        return found

    def kept(self, updated):
        """The weights after an update, before they are stored."""
        return updated

    def synchronise(self):
        pass

    def results(self, handle):
        return handle

    def parameters(self):
        return self._weights

    def describe(self):
        return {
            "framework": "NumPy",
            "framework_version": np.__version__,
            "build": {},
            "settings": {"threads": 1},
        }
