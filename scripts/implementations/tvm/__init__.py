"""Kernels compiled by TVM; built by the rules of tuning.smk before their cells run."""
