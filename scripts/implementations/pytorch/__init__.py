"""PyTorch: one file a style; model.py holds what they share (everything but the LSTM layers)."""

import os

from measurement import machine

if machine.vendor() == "AuthenticAMD" and "avx2" in machine.cpu_flags().split():
    # MKL before 2020.1, as in PyTorch 1.3, leaves out AVX2 on CPUs of others; later ones do not read it.
    os.environ.setdefault("MKL_DEBUG_CPU_TYPE", "5")
