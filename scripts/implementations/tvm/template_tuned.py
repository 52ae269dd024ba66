"""The schedule template with the schedule that tuning found: one function for all layers and steps, each core takes its rows of the batch through all of them. In training, a function for each layer and pass, and the logits of some tokens at a time."""

from pathlib import Path

from kernels.classifier import ClassifierRunner, ClassifierTrainer
from kernels.run import LanguageModelRunner, TemplateRunner
from kernels.runtime import set_threads
from kernels.train import ModelTrainer
from measurement.cells import CELLS, PARTS
from measurement.contract import Unsupported
from measurement.workload import layer_prefixes

from .model import Built, Kernel, kernel_layers

DATA_TYPES = ("float32", "bfloat16")  # the latter of bare layers


class Classifier(Built):
    """Layers by one built library, the last step's projection by NumPy. inputs [T, B, D] -> logits [B, C]."""

    def __init__(self, workload, weights):
        set_threads(workload.threads)
        layers, weight = kernel_layers(workload, weights), weights["projection.weight"]
        self.kernel = ClassifierRunner(Path(workload.kernel), layers, weight)

    def step(self, inputs, targets):
        return self.kernel(inputs)

    def results(self, handle):
        return {"output": handle}


class LanguageModel(Built):
    """Embedding, LSTM layers and projection by one built library. inputs [T, B] -> logits [T, B, V]."""

    def __init__(self, workload, weights):
        set_threads(workload.threads)
        around = (weights[name] for name in ("embedding", "projection.weight", "projection.bias"))
        layers = kernel_layers(workload, weights)
        self.kernel = LanguageModelRunner(Path(workload.kernel), layers, *around)

    def step(self, inputs, targets):
        self.kernel(inputs)

    def results(self, handle):
        return {"output": self.kernel.result()}


class Trained(Built):
    """A training step by one built library; Adam."""

    def take(self, weights, names):
        """names: what the library calls the weights around the layers."""
        self.names = dict(names)
        for number, prefix in enumerate(layer_prefixes(weights)):
            for part in PARTS:
                if prefix + part in weights:
                    self.names[prefix + part] = "%d.w_%s" % (number, part)
        for name, own in self.names.items():
            to = self.held()[0][own]
            to[...] = weights[name].reshape(to.shape)

    def held(self):
        """The library's weights and gradients, by its own names."""
        return self.kernel.weights, self.kernel.gradients

    def _named(self, found):
        """Vectors are one array in the canonical layout."""
        flat = {name: found[own] for name, own in self.names.items()}
        return {n: v.reshape(-1) if n.endswith(".vectors") else v for n, v in flat.items()}

    def results(self, handle):
        gradients = {name: value.copy() for name, value in self._named(self.held()[1]).items()}
        return {"loss": self.loss_of(handle), "gradients": gradients}

    def loss_of(self, handle):
        return self.kernel.loss

    def parameters(self):
        return {name: value.copy() for name, value in self._named(self.held()[0]).items()}

    def step(self, inputs, targets):
        self.kernel.step(inputs, targets)


class TrainedClassifier(Trained):
    """inputs [T, B, D], targets [B]."""

    def __init__(self, workload, weights):
        set_threads(workload.threads)
        if workload.optimizer["name"] != "adam":
            raise Unsupported("its training step has Adam")
        self.kernel = ClassifierTrainer(Path(workload.kernel), workload.outputs, workload.optimizer)
        self.take(weights, {"projection.weight": "w_output"})


class TrainedLanguageModel(Trained):
    """inputs, targets [T, B]."""

    def __init__(self, workload, weights):
        set_threads(workload.threads)
        if workload.optimizer["name"] != "adam" or workload.loss != "ce" or workload.carried:
            raise Unsupported("its training step is mean cross-entropy, Adam and a state of zero")
        if workload.dropout or "clip_norm" in workload.optimizer:
            raise Unsupported("its training step has no dropout and no clipping")
        self.kernel = ModelTrainer(Path(workload.kernel), workload.optimizer)
        names = {"embedding": "embedding", "projection.weight": "w_output"}
        self.take(weights, dict(names, **{"projection.bias": "w_output_bias"}))

    def held(self):
        return self.kernel.weights(), self.kernel.gradients()

    def loss_of(self, handle):
        return self.kernel.loss()


def build(workload, weights, device, phase):
    if workload.outputs and not workload.vocabulary:
        if workload.loss != "ce-last" or workload.bidirectional:
            raise Unsupported("of classifiers it has those of the last step of layers one way")
        kind = TrainedClassifier if phase == "training" else Classifier
        return kind(workload, weights)
    if phase == "training" and not workload.vocabulary:
        raise Unsupported("bare layers have no loss to train by")
    if phase == "training":
        return TrainedLanguageModel(workload, weights)
    if workload.vocabulary:
        return LanguageModel(workload, weights)
    return Kernel(workload, weights, TemplateRunner, CELLS)
