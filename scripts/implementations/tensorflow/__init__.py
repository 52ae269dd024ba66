"""TensorFlow implementations: one file a style; `model.py` and `device.py` hold what they share."""

import os

# Read when TensorFlow is imported: less logging; cuDNN's algorithm is not picked by timing trials.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["TF_CUDNN_USE_AUTOTUNE"] = "0"
os.environ["TF_CUDNN_RNN_USE_AUTOTUNE"] = "0"
