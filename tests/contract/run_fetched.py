"""Fetch arrays twice by implementations/jax/fetching.py; print whether they are brought anew each time.

Of a CPU's arrays NumPy is given the very memory, but where it has to be converted or put together: as a GPU's is, it is then
copied, and the copy kept.
"""

import json
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from implementations.jax.fetching import fetched


def told(tensor):
    """Of an array: {"anew": whether each fetch is a copy of its own, "equal", "kept by NumPy's way"}."""
    kept = np.asarray(tensor)
    first, second = (np.asarray(fetched(tensor)) for _ in range(2))
    places = {each.ctypes.data for each in (kept, first, second)}
    return {
        "anew": len(places) == 3,
        "equal": bool((first == second).all()),
        "kept by NumPy's way": np.asarray(tensor).ctypes.data == kept.ctypes.data,
    }


def main():
    both = NamedSharding(Mesh(np.array(jax.devices()), ("x",)), PartitionSpec("x"))
    found = {
        "converted": told(jnp.arange(8).astype(jnp.int4)),
        "put together": told(jax.device_put(np.arange(1000.0), both)),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
