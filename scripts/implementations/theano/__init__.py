"""What Theano multiplies with, without an LSTM."""
