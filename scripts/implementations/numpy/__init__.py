"""What NumPy multiplies with, without an LSTM."""
