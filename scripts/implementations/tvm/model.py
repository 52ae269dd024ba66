"""What the TVM implementations share: a kernel built by an earlier rule behind the contract."""

from pathlib import Path

from implementations.contract import Runner, Unsupported
from kernels.run import LanguageModelRunner, TemplateRunner, set_threads
from kernels.spec import Unsupported as KernelUnsupported
from kernels.train import ModelTrainer
from kernels.variants.run_steps import SplitStepsRunner, StepsRunner, UnrolledRunner
from measurement.workload import layer_prefixes, layer_weights

KINDS = {"template": TemplateRunner, "steps": StepsRunner, "unrolled": UnrolledRunner}


class Built(Runner):
    """What all built kernels have in common."""

    def synchronise(self):
        """TVM's functions return when all their threads have finished."""

    def describe(self):
        import tvm

        metadata = self.kernel.metadata
        return {
            "framework": "TVM",
            "framework_version": tvm.__version__,
            "build": {key: metadata[key] for key in ("target", "seconds")},
            "settings": {"threads": self.kernel.spec.threads},
        }


class Kernel(Built):
    """Bare LSTM layers by one built kernel. inputs [T, B, D] -> h [T, B, H]."""

    def __init__(self, workload, weights, kind):
        set_threads(workload.threads)
        try:
            self.kernel = KINDS[kind](Path(workload.kernel), layer_weights(weights))
        except KernelUnsupported as reason:
            raise Unsupported(str(reason)) from None

    def step(self, inputs, targets):
        self.kernel.set_input(inputs)
        self.kernel()

    def results(self, handle):
        return {"output": self.kernel.result()}


class GpuKernel(Built):
    """Bare LSTM layers by functions that the host launches. inputs [T, B, D] -> h [T, B, H]."""

    def __init__(self, workload, weights):
        try:
            self.kernel = SplitStepsRunner(Path(workload.kernel), layer_weights(weights))
        except KernelUnsupported as reason:
            raise Unsupported(str(reason)) from None

    def step(self, inputs, targets):
        self.kernel.set_input(inputs)
        self.kernel()

    def synchronise(self):
        self.kernel.synchronise()

    def results(self, handle):
        return {"output": self.kernel.result()}

    def describe(self):
        import tvm

        facts = super().describe()
        facts["build"]["cuda"] = tvm.cuda(0).api_version  # 12040: CUDA 12.4
        return facts


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
