"""Ways to look fast that a check lets pass, and only what is verified after the last timed batch finds out."""

import threading
import time

from implementations.pytorch.cell import lstm_stack
from implementations.pytorch.model import Model

RIGHT_UP_TO = 4  # sequences


class Caching(Model):
    """It computes its first batch, and gives the results of that for all others."""

    _first = None

    def step(self, inputs, targets):
        if self._first is None:
            self._first = super().step(inputs, targets)
        return self._first


class WrongAtSize(Model):
    """Right at the batch of a check; of a larger one the last sequence is lost, as by a kernel that leaves out the
    rows beyond a multiple of its tile."""

    def step(self, inputs, targets):
        if inputs.shape[1] > RIGHT_UP_TO:
            inputs = inputs.copy()
            inputs[:, -1] = inputs[:, 0]
        return super().step(inputs, targets)


class Early(Model):
    """A step returns at once and a thread computes, one batch after the other; only who fetches results waits."""

    _last = None

    def _wait(self):
        if self._last is not None:
            self._last.join()

    def step(self, inputs, targets):
        self._wait()
        given, found = (inputs.copy(), targets.copy()), []

        def compute():
            time.sleep(0.02)  # as a larger batch would take
            found.append(super(Early, self).step(*given))

        self._last = threading.Thread(target=compute)
        self._last.start()
        return found

    def results(self, handle):
        self._wait()
        return super().results(handle[0])

    def parameters(self):
        self._wait()
        return super().parameters()


def style(kind):
    """Its `build`."""
    return lambda *given: kind(*given, stack=lstm_stack)


caching, wrong_at_size, early = map(style, (Caching, WrongAtSize, Early))
