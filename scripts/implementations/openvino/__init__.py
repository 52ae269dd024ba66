"""OpenVINO, an inference library."""
