"""LSTM kernels by TVM: a schedule template, its tuning, and what the automatic ways give.

spec -> kernel (template) -> tuning -> build -> run; automatic, te_lstm and run_steps are the ways without
a template.
"""
