"""Print what TensorFlow's cuDNN operators take, as JSON: {operator: names of its inputs and attributes}."""

import json

from tensorflow.python.framework import op_def_registry
from tensorflow.python.ops import gen_cudnn_rnn_ops  # noqa: F401 (registers them)


def main():
    get = getattr(op_def_registry, "get", None) or op_def_registry.get_registered_ops().get
    found = {name: get(name) for name in ("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3")}
    print(
        json.dumps(
            {
                name: [each.name for each in list(operator.input_arg) + list(operator.attr)]
                for name, operator in found.items()
                if operator
            }
        )
    )


if __name__ == "__main__":
    main()
