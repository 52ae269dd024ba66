"""A style whose processes differ: each pauses ten times as long as the one before, every third for the shortest time.
How many there have been is the size of a file in the working folder."""

import os

from .steady import Steady

FILE = "noisy-processes.txt"


class Noisy(Steady):
    def __init__(self, workload, weights, device, phase):
        Steady.__init__(self, workload, weights, device, phase)
        with open(FILE, "a") as stream:
            stream.write(".")
        self.pause_s = 0.005 * 10 ** (os.path.getsize(FILE) % 3)


def build(workload, weights, device, phase):
    return Noisy(workload, weights, device, phase)
