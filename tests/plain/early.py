"""A wrong style: a step returns at once, and waiting for it does not wait. Its results are right, as they are waited for."""

import threading
import time

from .model import Model


class Early(Model):
    def step(self, inputs, targets):
        found, inputs = {}, inputs.copy()

        def compute():
            time.sleep(0.02)
            found.update(Model.step(self, inputs, targets))

        thread = threading.Thread(target=compute)
        thread.start()
        return thread, found

    def results(self, handle):
        thread, found = handle
        thread.join()
        return found


def build(workload, weights, device, phase):
    return Early(workload, weights, device, phase)
