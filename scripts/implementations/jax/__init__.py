"""What JAX multiplies with, without an LSTM."""
