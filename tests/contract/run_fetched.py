"""Fetch an array of another device twice by implementations/jax/fetching.py; print whether it is brought anew each time.

Two devices of a CPU stand for a GPU and its host.
"""

import json
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import jax
import numpy as np

from implementations.jax.fetching import fetched


def main():
    tensor = jax.device_put(np.arange(1000.0), jax.devices()[1])
    first, second = (np.asarray(fetched(tensor)) for _ in range(2))
    kept, again = (np.asarray(tensor) for _ in range(2))
    found = {
        "anew": first.ctypes.data != second.ctypes.data,
        "equal": bool((first == second).all()),
        "kept by NumPy's way": kept.ctypes.data == again.ctypes.data,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
