"""ONNX's operator of the cell, one a layer, in ONNX Runtime's CPU provider with all its optimisations: for inference."""

import os
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from measurement import precision
from measurement.contract import Runner, Unsupported, require_cell
from measurement.workload import layer_weights

DATA_TYPES = ("float32", "int8")  # by quantize_dynamic

OPSET = 17
# Of a cell: the operator, our gates in its order (i, o, f, g; z, r, n), its attributes.
OPERATORS = {
    "lstm": ("LSTM", (0, 3, 1, 2), {}),
    "peephole": ("LSTM", (0, 3, 1, 2), {}),
    "gru": ("GRU", (1, 0, 2), {"linear_before_reset": 1}),
}


def onnx_model(workload, weights):
    """The model in ONNX, bytes: x, tokens [T, B] or dense [T, B, D] -> logits [T, B, C], those of the last step [B, C], or
    h [T, B, H]. ONNX has two biases a gate; the second is zero here, but where a sum is kept apart."""
    operator, order, attributes = OPERATORS[workload.cell]
    nodes, constants = [], []

    def constant(name, value):
        constants.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def node(kind, inputs, output, **attributes):
        nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    axis, source = constant("axis", np.array([1], np.int64)), "x"  # of the single direction
    if workload.vocabulary:
        source = node("Gather", [constant("embedding", weights["embedding"]), source], "embedded")
    gates = len(order) * workload.hidden
    for number, (w_input, w_recurrent, bias, *vectors) in enumerate(layer_weights(weights)):
        second = np.zeros_like(bias[:gates])
        second[second.size - (bias.size - gates) :] = bias[gates:]
        inputs = [
            source,
            constant("W%d" % number, reorder(w_input, order).T[None]),
            constant("R%d" % number, reorder(w_recurrent, order).T[None]),
            constant("B%d" % number, np.concatenate([reorder(bias[:gates], order), second])[None]),
        ]
        for peepholes in vectors:  # of i, f, o
            inputs += ["", "", "", constant("P%d" % number, reorder(peepholes, (0, 2, 1))[None])]
        given = dict(attributes, hidden_size=workload.hidden)
        directions = node(operator, inputs, "directions%d" % number, **given)
        source = node("Squeeze", [directions, axis], "y%d" % number)
    shape, width = [workload.length, workload.batch], workload.outputs or workload.hidden
    tokens, steps = workload.vocabulary, shape
    if workload.loss == "ce-last":
        last = constant("last", np.array(workload.length - 1, np.int64))
        source, steps = node("Gather", [source, last], "y", axis=0), [workload.batch]
    if "projection.weight" in weights:
        projection = constant("projection", weights["projection.weight"])
        source = node("MatMul", [source, projection], "scores")
    if "projection.bias" in weights:
        source = node("Add", [source, constant("bias", weights["projection.bias"])], "logits")
    kind = TensorProto.INT64 if tokens else TensorProto.FLOAT
    given = helper.make_tensor_value_info(
        "x", kind, shape + ([] if tokens else [workload.features])
    )
    found = helper.make_tensor_value_info(source, TensorProto.FLOAT, [*steps, width])
    graph = helper.make_graph(nodes, "lstm", [given], [found], constants)
    opset = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()


def rounded(model):
    """An ONNX model, bytes, with weights in int8: the operators DynamicQuantizeLSTM and MatMulInteger."""
    from onnxruntime.quantization import quantize_dynamic  # loads more than float32 should wait for

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "int8.onnx")
        # Of 8 bits, CPUs without VNNI sum pairs of products in 16, which saturate: outputs are off by up to a third.
        quantize_dynamic(onnx.load_from_string(model), path, reduce_range=True)
        with open(path, "rb") as file:
            return file.read()


def refuse(workload, phase, cells=("lstm", "gru", "peephole")):
    """Raise Unsupported for what that model does not do; cells: those that a runtime has."""
    require_cell(workload, cells, "ONNX has operators of LSTM and GRU, no other cells")
    if phase == "training":
        raise Unsupported("it is for inference only")
    if workload.bidirectional or workload.carried or workload.loss not in (None, "ce", "ce-last"):
        raise Unsupported(
            "its model has layers one way, from zero states, and all steps or the last one as output"
        )


def reorder(weights, order):
    """Gates, along the last axis, in another order."""
    gates = np.split(weights, len(order), axis=-1)
    return np.concatenate([gates[number] for number in order], axis=-1)


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
        if workload.data_type == precision.INT8:
            model = rounded(model)
            self.operators = [node.op_type for node in onnx.load_from_string(model).graph.node]
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

    def precision(self, inputs, targets):
        """Layers by their operators, which have one format each."""
        formats = {"DynamicQuantizeLSTM": precision.INT8, "LSTM": precision.FLOAT32}
        formats["GRU"] = precision.FLOAT32
        found = {precision.INT8: {}, precision.FLOAT32: {}}
        for kind in self.operators:
            if kind in formats:
                counts = found[formats[kind]]
                counts[kind] = counts.get(kind, 0) + 1
        return found

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
