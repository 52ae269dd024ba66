"""LSTM with zoneout as it is used after training, the expected value (Krueger et al. 2017, arXiv:1606.01305)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="i f g o", states="h c")
def zoneout(i, f, g, o, h, c, z_h=0.05, z_c=0.5):
    new = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return z_h * h + (1 - z_h) * sigmoid(o) * tanh(new), z_c * c + (1 - z_c) * new
