"""The same ONNX model in OpenVINO's CPU plugin, in float32."""

from io import BytesIO

import openvino

from implementations.contract import Runner, Unsupported
from implementations.onnxruntime.lstm import onnx_model, refuse


class Request(Runner):
    def __init__(self, workload, weights, device):
        if device == "gpu":
            raise Unsupported("OpenVINO runs on CPUs and Intel devices, not on NVIDIA GPUs")
        core = openvino.Core()
        model = core.read_model(BytesIO(onnx_model(workload, weights)))
        settings = {
            "INFERENCE_PRECISION_HINT": "f32",  # it would choose bfloat16 where it can
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": workload.threads,
            "NUM_STREAMS": 1,
            "CPU_DENORMALS_OPTIMIZATION": True,
        }
        self.request = core.compile_model(model, "CPU", settings).create_infer_request()
        self.threads = workload.threads

    def step(self, inputs, targets):
        self.request.set_input_tensor(openvino.Tensor(inputs, shared_memory=True))
        self.request.infer()

    def synchronise(self):
        """`infer` returns when it has finished."""

    def results(self, handle):
        return {"output": self.request.get_output_tensor(0).data}

    def describe(self):
        return {
            "framework": "OpenVINO",
            "framework_version": openvino.__version__,
            "build": {},
            "settings": {"threads": self.threads, "flush_to_zero": True, "precision": "f32"},
        }


def build(workload, weights, device, phase):
    refuse(workload, phase)
    return Request(workload, weights, device)
