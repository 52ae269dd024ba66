"""The schedule template with the schedule that tuning found: one function for all layers and steps, each core takes its rows of the batch through all of them. In training, a function for each layer and pass, and the logits of some tokens at a time."""

from pathlib import Path

from implementations.contract import Unsupported
from kernels.run import LanguageModelRunner, TemplateRunner
from kernels.runtime import set_threads
from kernels.spec import Unsupported as KernelUnsupported
from kernels.train import ModelTrainer
from measurement.workload import layer_prefixes, layer_weights

from .model import Built, Kernel


class LanguageModel(Built):
    """Embedding, LSTM layers and projection by one built library. inputs [T, B] -> logits [T, B, V]."""

    def __init__(self, workload, weights):
        set_threads(workload.threads)
        around = (weights[name] for name in ("embedding", "projection.weight", "projection.bias"))
        self.kernel = LanguageModelRunner(Path(workload.kernel), layer_weights(weights), *around)

    def step(self, inputs, targets):
        self.kernel(inputs)

    def results(self, handle):
        return {"output": self.kernel.result()}


class TrainedLanguageModel(Built):
    """A language model's training step by one built library. inputs, targets [T, B]; Adam."""

    def __init__(self, workload, weights):
        set_threads(workload.threads)
        if workload.optimizer["name"] != "adam" or workload.loss != "ce" or workload.carried:
            raise Unsupported("its training step is mean cross-entropy, Adam and a state of zero")
        if workload.dropout or "clip_norm" in workload.optimizer:
            raise Unsupported("its training step has no dropout and no clipping")
        try:
            self.kernel = ModelTrainer(Path(workload.kernel), workload.optimizer)
        except KernelUnsupported as reason:
            raise Unsupported(str(reason)) from None
        self.names = {"embedding": "embedding", "projection.weight": "w_output"}
        self.names["projection.bias"] = "w_output_bias"
        for number, prefix in enumerate(layer_prefixes(weights)):
            for part in ("input", "recurrent", "bias"):
                self.names[prefix + part] = "%d.w_%s" % (number, part)
        for name, own in self.names.items():
            self.kernel.weights()[own][...] = weights[name]

    def step(self, inputs, targets):
        self.kernel.step(inputs, targets)

    def results(self, handle):
        found = self.kernel.gradients()
        gradients = {name: found[own].copy() for name, own in self.names.items()}
        return {"loss": self.kernel.loss(), "gradients": gradients}

    def loss_of(self, handle):
        return self.kernel.loss()

    def parameters(self):
        return {name: self.kernel.weights()[own].copy() for name, own in self.names.items()}


def build(workload, weights, device, phase):
    if phase == "training" and not workload.vocabulary:
        raise Unsupported("bare layers have no loss to train by")
    if phase == "training":
        return TrainedLanguageModel(workload, weights)
    if workload.vocabulary:
        return LanguageModel(workload, weights)
    return Kernel(workload, weights, TemplateRunner)
