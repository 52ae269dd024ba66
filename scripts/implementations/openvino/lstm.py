"""The same ONNX model in OpenVINO's CPU plugin, in float32."""

from io import BytesIO

import openvino

from implementations.onnxruntime.lstm import onnx_model, refuse
from measurement import precision
from measurement.contract import Runner, Unsupported

DATA_TYPES = ("float32", "bfloat16")


class Request(Runner):
    def __init__(self, workload, weights, device):
        if device == "gpu":
            raise Unsupported("OpenVINO runs on CPUs and Intel devices, not on NVIDIA GPUs")
        core = openvino.Core()
        model = core.read_model(BytesIO(onnx_model(workload, weights)))
        hint = "bf16" if workload.data_type == precision.BFLOAT16 else "f32"
        settings = {
            "INFERENCE_PRECISION_HINT": hint,  # it would choose bfloat16 where it can
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": workload.threads,
            "NUM_STREAMS": 1,
            "CPU_DENORMALS_OPTIMIZATION": True,
        }
        self.compiled, self.hint = core.compile_model(model, "CPU", settings), hint
        self.request = self.compiled.create_infer_request()
        self.threads = workload.threads

    def step(self, inputs, targets):
        self.request.set_input_tensor(openvino.Tensor(inputs, shared_memory=True))
        self.request.infer()

    def precision(self, inputs, targets):
        """Layers and products of the compiled model by the precision that it says they run in."""
        found = {precision.BFLOAT16: {}, precision.FLOAT32: {}}
        for node in self.compiled.get_runtime_model().get_ops():
            told = {key: str(value.value) for key, value in node.get_rt_info().items()}
            kind = told.get("layerType", "")
            if kind in ("LSTMSequence", "RNNSeq", "FullyConnected", "MatMul"):
                half = "BF16" in told["runtimePrecision"].upper()
                counts = found[precision.BFLOAT16 if half else precision.FLOAT32]
                counts[kind] = counts.get(kind, 0) + 1
        return found

    def synchronise(self):
        """`infer` returns when it has finished."""

    def results(self, handle):
        return {"output": self.request.get_output_tensor(0).data}

    def describe(self):
        return {
            "framework": "OpenVINO",
            "framework_version": openvino.__version__,
            "build": {},
            "settings": {"threads": self.threads, "flush_to_zero": True, "precision": self.hint},
        }


def build(workload, weights, device, phase):
    if workload.cell == "peephole":
        raise Unsupported("OpenVINO %s ignores the peepholes of ONNX's LSTM" % openvino.__version__)
    refuse(workload, phase, cells=("lstm", "gru"))
    return Request(workload, weights, device)
