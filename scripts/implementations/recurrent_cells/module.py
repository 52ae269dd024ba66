"""recurrent_cells.Recurrent in place of nn.LSTM, as it is installed: generated C for any cell, nothing tuned, in a PyTorch program.

One call computes all layers and steps; sequences of other lengths are computed to their own ends. A cell is compiled once on
a machine and kept in the user's cache folder.
"""

import numpy as np
import torch

from implementations.pytorch import model
from measurement import precision
from measurement.cells import CELLS
from measurement.contract import Unsupported
from measurement.workload import layer_prefixes
from recurrent_cells.cells import CELLS as KNOWN
from recurrent_cells.codegen import CompilerError

# Not from the package: which files that loads, a reader of the source could not tell.
from recurrent_cells.module import Recurrent

DATA_TYPES = ("float32", "bfloat16", "int8")  # by autocast and Recurrent.int8

NAMES = {"input": "weight_input", "recurrent": "weight_recurrent", "bias": "bias"}


class Layers(model.Model):
    """The layers' weights are Recurrent's parameters, in the canonical layout; all else is PyTorch's own."""

    def __init__(self, workload, weights, device, phase):
        if device != "cpu":
            raise Unsupported("recurrent_cells is for CPUs")
        super(Layers, self).__init__(workload, weights, device, phase, cells=CELLS)
        self.stack = self.carry if workload.carried else self.whole
        self.lengths = None
        if workload.lengths is not None:
            self.lengths = torch.from_numpy(np.asarray(workload.lengths, np.int64))
        self.recurrent = Recurrent(
            KNOWN[workload.cell.replace("-", "_")],
            weights[next(iter(layer_prefixes(weights))) + "input"].shape[0],
            workload.hidden,
            workload.layers,
            dropout=workload.dropout,  # between layers
            bidirectional=workload.bidirectional,
        ).train(self.training)
        self.take(weights)
        for parameter in self.recurrent.parameters():
            parameter.requires_grad_(self.recording)
        if self.training:
            constants = workload.optimizer
            self.optimizer, self.optimizer_form = model.optimizer(self.weights.values(), constants)
        self.layers = None  # they are in the module
        if workload.data_type == precision.INT8:
            self.recurrent = self.recurrent.int8()

    def take(self, weights):
        """Let the module have the weights, and `self.weights` its parameters, each vector of a cell apart."""
        vectors = self.recurrent.cell.vectors
        self.own = {}  # name of a weight here: (canonical name, place among vectors)
        for prefix, end in zip(layer_prefixes(weights), self.recurrent._ends()):
            for part, name in NAMES.items():
                self.own[prefix + part] = (prefix + part, None)
                self.fill(prefix + part, name + end, weights[prefix + part])
            if vectors:
                del self.weights[prefix + "vectors"]
                values = weights[prefix + "vectors"].reshape(len(vectors), -1)
                for place, vector in enumerate(vectors):
                    name = "%svectors.%d" % (prefix, place)
                    self.own[name] = (prefix + "vectors", place)
                    self.fill(name, vector + end, values[place])

    def fill(self, name, parameter, value):
        self.weights[name] = getattr(self.recurrent, parameter)
        with torch.no_grad():
            self.weights[name].copy_(torch.from_numpy(value))

    def whole(self, x, layers):
        """x [T, B, D] -> h [T, B, H]"""
        return self.recurrent(x, lengths=self.lengths)[0]

    def carry(self, x, layers, state):
        """x [T, B, D] -> h [T, B, H], state"""
        h, state = self.recurrent(x, state or None)
        return h, [state] if torch.is_tensor(state) else state

    def canonical(self, tensors):
        """{name: tensor} as `self.weights` -> {canonical name: array}."""
        found = model.canonical({n: v for n, v in tensors.items() if n not in self.own})
        parts = {}
        for name, (whole, _) in self.own.items():
            parts.setdefault(whole, []).append(tensors[name].detach().numpy())
        for name, several in parts.items():
            one = several[0] if len(several) == 1 else np.concatenate(several)
            found[name] = one.copy()
        return found

    def precision(self, inputs, targets):
        """Also the layers themselves, by the format of their weights in int8, else of what they give."""
        found = super(Layers, self).precision(inputs, targets)
        with torch.no_grad(), self.cast():
            told = self.recurrent(torch.zeros(1, 1, self.recurrent.input_size))[0]
        if self.workload.data_type == precision.INT8:
            told = self.recurrent.weight_input_l0
        counts = found[str(told.dtype).replace("torch.", "")]
        counts["layer (recurrent_cells)"] = self.recurrent.num_layers
        return found

    def results(self, handle):
        if not self.training:
            return super(Layers, self).results(handle)
        loss, gradients = handle
        return {"loss": loss.item(), "gradients": self.canonical(gradients)}

    def parameters(self):
        return self.canonical(self.weights)

    def describe(self):
        facts = super(Layers, self).describe()
        facts["build"]["kernel"] = "recurrent_cells, generated C"
        return facts


def build(workload, weights, device, phase):
    runner = Layers(workload, weights, device, phase)
    try:
        with torch.no_grad():
            runner.recurrent(torch.zeros(1, 1, runner.recurrent.input_size))
    except CompilerError as reason:
        raise Unsupported(str(reason))
    return runner
