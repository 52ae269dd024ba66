"""ONNX's LSTM operator, one a layer, in ONNX Runtime's CPU provider with all its optimisations: for inference."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from implementations.contract import Runner, Unsupported, require_cell
from measurement.workload import layer_weights

OPSET = 17


def onnx_model(workload, weights):
    """The model in ONNX, bytes: x, tokens [T, B] or dense [T, B, D] -> "output", logits [T, B, C] or h [T, B, H].

    ONNX orders the gates i, o, f, g and has two biases, of which the second is zero here.
    """
    require_cell(workload)
    nodes, constants = [], []

    def constant(name, value):
        constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(operator, inputs, output, **attributes):
        nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    axis, source = constant("axis", np.array([1], np.int64)), "x"  # of the single direction
    if workload.vocabulary:
        source = node("Gather", [constant("embedding", weights["embedding"]), source], "embedded")
    for number, (w_input, w_recurrent, bias) in enumerate(layer_weights(weights)):
        both = np.concatenate([reorder(bias), np.zeros_like(bias)])
        inputs = [
            source,
            constant("W%d" % number, reorder(w_input).T[None]),
            constant("R%d" % number, reorder(w_recurrent).T[None]),
            constant("B%d" % number, both[None]),
        ]
        directions = node("LSTM", inputs, "directions%d" % number, hidden_size=workload.hidden)
        source = node("Squeeze", [directions, axis], "y%d" % number)
    if workload.vocabulary:
        projection = constant("projection", weights["projection.weight"])
        scores = node("MatMul", [source, projection], "scores")
        source = node("Add", [scores, constant("bias", weights["projection.bias"])], "logits")
    shape, width = [workload.length, workload.batch], workload.outputs or workload.hidden
    tokens = workload.vocabulary
    kind = TensorProto.INT64 if tokens else TensorProto.FLOAT
    given = helper.make_tensor_value_info(
        "x", kind, shape + ([] if tokens else [workload.features])
    )
    found = helper.make_tensor_value_info(source, TensorProto.FLOAT, [*shape, width])
    graph = helper.make_graph(nodes, "lstm", [given], [found], constants)
    opset = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()


def refuse(workload, phase):
    """Raise Unsupported for what that model does not do."""
    if phase == "training":
        raise Unsupported("it is for inference only")
    if workload.bidirectional or workload.carried or workload.loss not in (None, "ce"):
        raise Unsupported("its model has layers one way, from zero states, and all steps as output")


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
        model = onnx_model(workload, weights)
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
    refuse(workload, phase)
    return Session(workload, weights, device)
