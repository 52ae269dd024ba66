"""A wrong style: right at the batch of a check, and wrong in one sequence of a larger one, as a kernel that loses the rows
beyond a multiple of its tile."""

import numpy as np

from measurement import reference

from .model import Model

RIGHT_UP_TO = 4


class WrongAtSize(Model):
    def step(self, inputs, targets):
        if inputs.shape[1] > RIGHT_UP_TO:
            inputs = inputs.copy()
            inputs[:, -1] = inputs[:, 0]
        return Model.step(self, inputs, targets)


class LossOfAll(Model):
    """Right in its loss, at least."""

    def step(self, inputs, targets):
        before = self._weights
        found = Model.step(self, inputs, targets)
        if self._training and inputs.shape[1] > RIGHT_UP_TO:
            last = np.arange(inputs.shape[1] - 1)
            some = inputs[:, last], targets[:, last]
            found["gradients"] = reference.loss_and_gradients(before, *some)[1]
        return found
