"""AntisymmetricRNN with gating (Chang, Chen, Haber & Chi 2019, arXiv:1902.09689)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="a z", x_only="a z", states="h", matrices="u")
def antisymmetric(a, z, h, u, step=0.1, diffusion=0.1):
    turned = h @ u - h @ u.T - diffusion * h
    return h + step * sigmoid(turned + z) * tanh(turned + a)
