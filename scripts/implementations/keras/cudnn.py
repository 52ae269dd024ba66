"""`keras.layers.LSTM` on TensorFlow with cuDNN's kernel, what was `CuDNNLSTM` in Keras 2; GPU only."""

from measurement.contract import Unsupported

from .lstm_tensorflow import OnTensorFlow, keras


def build(workload, weights, device, phase):
    if device == "cpu":
        # Asked for, `use_cudnn=True` raises there; "auto" runs a loop of operators: another row.
        raise Unsupported("cuDNN runs on NVIDIA GPUs only: Keras has no such kernel for a CPU")
    if keras.__version__ < "3":
        raise Unsupported(
            "Keras %s stands on a TensorFlow built without CUDA here" % keras.__version__
        )
    return OnTensorFlow(workload, weights, device, phase, use_cudnn=True)
