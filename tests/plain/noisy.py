"""A style whose steps differ: each pauses ten times as long as the one before, every third for the shortest time. Its
processes are alike. How many there have been is the size of a file in the working folder."""

from .steady import Steady

FILE = "noisy-processes.txt"


class Noisy(Steady):
    def __init__(self, workload, weights, device, phase):
        Steady.__init__(self, workload, weights, device, phase)
        with open(FILE, "a") as stream:
            stream.write(".")
        self._steps = 0

    def step(self, inputs, targets):
        self.pause_s = 0.005 * 10 ** (self._steps % 3)
        self._steps += 1
        return Steady.step(self, inputs, targets)


def build(workload, weights, device, phase):
    return Noisy(workload, weights, device, phase)
