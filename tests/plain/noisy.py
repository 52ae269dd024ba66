"""A style whose steps differ: each pauses for a time drawn at random, the longest a hundred times the shortest. Its processes
are alike. How many there have been is the size of a file in the working folder."""

import os
import random

from .steady import Steady

FILE = "noisy-processes.txt"


class Noisy(Steady):
    def __init__(self, workload, weights, device, phase):
        Steady.__init__(self, workload, weights, device, phase)
        with open(FILE, "a") as stream:
            stream.write(".")
        self._random = random.Random(os.path.getsize(FILE))

    def step(self, inputs, targets):
        self.pause_s = 0.002 * 10 ** self._random.randrange(3)
        return Steady.step(self, inputs, targets)


build = Noisy
