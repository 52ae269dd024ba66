"""ONNX's LSTM operator, one a layer, in ONNX Runtime's CPU provider with all its optimisations."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from implementations.contract import Runner, Unsupported
from measurement.workload import layer_weights

OPSET = 17


def onnx_model(workload, layers):
    """The layers as an ONNX model, bytes: x [T, B, D] -> y [T, B, H].

    ONNX orders the gates i, o, f, g and has two biases, of which the second is zero here.
    """
    nodes, constants = [], []

    def constant(name, value):
        constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    axis, source = constant("axis", np.array([1], np.int64)), "x"  # of the single direction
    for number, (w_input, w_recurrent, bias) in enumerate(layers):
        both = np.concatenate([reorder(bias), np.zeros_like(bias)])
        inputs = [
            source,
            constant("W%d" % number, reorder(w_input).T[None]),
            constant("R%d" % number, reorder(w_recurrent).T[None]),
            constant("B%d" % number, both[None]),
        ]
        directions, source = "directions%d" % number, "y%d" % number
        nodes.append(helper.make_node("LSTM", inputs, [directions], hidden_size=workload.hidden))
        nodes.append(helper.make_node("Squeeze", [directions, axis], [source]))
    shape = [workload.length, workload.batch]

    def value(name, width):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [*shape, width])

    graph = helper.make_graph(
        nodes, "lstm", [value("x", workload.features)], [value(source, workload.hidden)], constants
    )
    opset = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()


def reorder(weights):
    """Gates i, f, g, o -> i, o, f, g along the last axis."""
    i, f, g, o = np.split(weights, 4, axis=-1)
    return np.concatenate([i, o, f, g], axis=-1)


class Session(Runner):
    def __init__(self, workload, weights, device):
        if device == "gpu":
            raise Unsupported("the CPU build of ONNX Runtime has no GPU provider")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = workload.threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.add_session_config_entry("session.set_denormal_as_zero", "1")
        model = onnx_model(workload, layer_weights(weights))
        providers = ["CPUExecutionProvider"]
        self.session = onnxruntime.InferenceSession(model, options, providers=providers)
        self.output = self.session.get_outputs()[0].name
        self.threads = workload.threads

    def step(self, inputs, targets):
        """Input and output bound: `run` would copy the output once more."""
        binding = self.session.io_binding()
        binding.bind_cpu_input("x", inputs)
        binding.bind_output(self.output)
        self.session.run_with_iobinding(binding)
        return binding

    def synchronise(self):
        """`run` returns when it has finished."""

    def results(self, handle):
        return {"output": handle.get_outputs()[0].numpy()}

    def describe(self):
        return {
            "framework": "ONNX Runtime",
            "framework_version": onnxruntime.__version__,
            "build": {"onnx": onnx.__version__, "info": onnxruntime.get_build_info()},
            "settings": {"threads": self.threads, "flush_to_zero": True},
        }


def build(workload, weights, device, phase):
    return Session(workload, weights, device)
