"""JAX: one file a style; model.py holds what they share (everything but the LSTM layers)."""
