"""Ways to look fast that a check lets pass, laid over the `Model` of any framework. Python 3.6 syntax."""

import threading
import time

RIGHT_UP_TO = 4  # sequences


class Caching:
    """It computes its first batch, and gives the results of that for all others."""

    _first = None

    def step(self, inputs, targets):
        if self._first is None:
            self._first = super().step(inputs, targets)
        return self._first


class WrongAtSize:
    """Right at the batch of a check; of a larger one the last sequence is lost, as by a kernel that leaves out the
    rows beyond a multiple of its tile."""

    def step(self, inputs, targets):
        if inputs.shape[1] > RIGHT_UP_TO:
            inputs = inputs.copy()
            inputs[:, -1] = inputs[:, 0]
        return super().step(inputs, targets)


class Early:
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


def styles(model, stack):
    """`build` of each of them, around `stack()`: caching, wrong at the timed size, early."""

    def style(kind):
        return lambda *given: type(kind.__name__, (kind, model), {})(*given, stack=stack())

    return [style(kind) for kind in (Caching, WrongAtSize, Early)]
