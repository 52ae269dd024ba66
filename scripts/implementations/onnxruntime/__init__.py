"""ONNX Runtime, an inference library."""
