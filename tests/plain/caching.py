"""A wrong style: it computes its first batch, and gives the results of that for all others."""

from .model import Model


class Caching(Model):
    _first = None

    def step(self, inputs, targets):
        self._first = self._first or Model.step(self, inputs, targets)
        return self._first


build = Caching
