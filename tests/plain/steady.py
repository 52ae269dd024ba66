"""A style whose processes all take the same: a pause far longer than the computation."""

import time

from .model import Model


class Steady(Model):
    pause_s = 0.05

    def step(self, inputs, targets):
        time.sleep(self.pause_s)
        return Model.step(self, inputs, targets)


build = Steady
