"""JAX's arrays on the host."""

import jax


def fetched(tensor):
    """A device's array on the host, brought there anew: a GPU's keeps the copy that NumPy is given and gives it again in no
    time. Held against that, what was fetched at once looked late, and a row that had finished was refused (an H200, JAX
    0.11.2)."""
    return jax.device_put(tensor, jax.local_devices(backend="cpu")[0])
