"""`LSTMLayer`, a `theano.scan` over time for each layer and direction, compiled by Theano."""

import sys
import types

import numpy as np

from implementations.theano_flags import build_facts, configure, theano
from measurement.contract import Runner, require_cell
from measurement.workload import layer_prefixes

# isort: split
import theano.tensor as T
from theano.tensor.signal import pool

# Lasagne 0.1 imports a module that Theano no longer has.
downsample = types.ModuleType("theano.tensor.signal.downsample")
downsample.max_pool_2d = pool.pool_2d
sys.modules[downsample.__name__] = downsample

import lasagne  # noqa: E402
from lasagne import layers  # noqa: E402

FORKS = False  # where compiled code lies is fixed when Theano is imported
GATES = ("ingate", "forgetgate", "cell", "outgate")  # i, f, g, o


class Classifier(Runner):
    """Dense input -> LSTM layers -> projection -> loss -> Adam, in one Theano function."""

    def __init__(self, workload, weights, device, phase):
        require_cell(workload)
        self._settings = configure(device, workload.threads)
        self._phase = phase
        self._parameters = []  # (canonical name, shared variables side by side along the last axis)
        inputs = T.ftensor3()  # [T, B, D]
        logits = layers.get_output(self._network(workload, weights, inputs))
        if phase == "forward":
            self._run = theano.function([inputs], logits)
            return
        if workload.loss == "ctc":
            # [B, labels]; warp-ctc has the softmax inside and takes output 0 for the blank
            targets = T.imatrix()
            loss = theano.tensor.nnet.ctc.ctc(
                logits, targets, T.constant(workload.lengths.astype(np.int32))
            )
        else:
            targets = T.lvector()  # [B]
            loss = lasagne.objectives.categorical_crossentropy(T.nnet.softmax(logits), targets)
        self._target_type = targets.dtype
        loss = loss.mean()
        variables = [variable for _, shared in self._parameters for variable in shared]
        gradients = T.grad(loss, variables)
        updates = adam(gradients, variables, workload.optimizer)
        self._run = theano.function([inputs, targets], [loss] + gradients, updates=updates)

    def _network(self, workload, weights, inputs):
        """The last layer, whose output is logits [B, C] or, for CTC, [T, B, C]."""
        shape = (workload.batch, workload.length)
        top = layers.InputLayer(shape + (workload.features,), inputs.dimshuffle(1, 0, 2))
        mask = None
        if workload.lengths is not None:
            inside = np.arange(workload.length) < workload.lengths[:, None]  # [B, T]
            mask = layers.InputLayer(shape, T.constant(inside.astype(np.float32)))
        prefixes = layer_prefixes(weights)
        directions = 2 if workload.bidirectional else 1
        for first in range(0, len(prefixes), directions):
            runs = [
                self._lstm(top, mask, workload.hidden, weights, prefix)
                for prefix in prefixes[first : first + directions]
            ]
            top = layers.concat(runs, axis=2) if len(runs) > 1 else runs[0]
        if workload.loss == "ctc":
            flat = layers.ReshapeLayer(top, (-1, [2]))  # [B * T, H or 2H]
            dense = self._projection(flat, weights["projection.weight"])
            back = layers.ReshapeLayer(dense, shape + (workload.outputs,))
            return layers.DimshuffleLayer(back, (1, 0, 2))
        return self._projection(layers.SliceLayer(top, -1, axis=1), weights["projection.weight"])

    def _lstm(self, below, mask, hidden, weights, prefix):
        parts = [
            np.split(weights[prefix + part], 4, axis=-1) for part in ("input", "recurrent", "bias")
        ]
        gates = {
            name: layers.Gate(W_in=w_in, W_hid=w_hid, b=bias)
            for name, w_in, w_hid, bias in zip(GATES, *parts)
        }
        gates["cell"].nonlinearity = lasagne.nonlinearities.tanh
        layer = layers.LSTMLayer(
            below,
            hidden,
            backwards="reverse" in prefix,
            peepholes=False,  # the document's LSTM had them; equal mathematics here
            mask_input=mask,
            **gates,
        )
        for part, pattern in (
            ("input", "W_in_to_%s"),
            ("recurrent", "W_hid_to_%s"),
            ("bias", "b_%s"),
        ):
            shared = [getattr(layer, pattern % gate) for gate in GATES]
            self._parameters.append((prefix + part, shared))
        return layer

    def _projection(self, below, weight):
        dense = layers.DenseLayer(below, weight.shape[1], W=weight, b=None, nonlinearity=None)
        self._parameters.append(("projection.weight", [dense.W]))
        return dense

    def step(self, inputs, targets):
        if self._phase == "forward":
            return self._run(inputs)
        return self._run(inputs, targets.astype(self._target_type))

    def synchronise(self):
        """A function has finished when its call returns."""

    def results(self, handle):
        if self._phase == "forward":
            return {"output": np.asarray(handle)}
        return {"loss": float(handle[0]), "gradients": self._named(handle[1:])}

    def parameters(self):
        return self._named(
            [shared.get_value() for _, group in self._parameters for shared in group]
        )

    def _named(self, arrays):
        """Arrays in the order of the shared variables -> {name: array} in the canonical layout."""
        named, arrays = {}, iter(arrays)
        for name, group in self._parameters:
            named[name] = np.concatenate([np.asarray(next(arrays)) for _ in group], axis=-1)
        return named

    def describe(self):
        return {
            "framework": "Lasagne",
            "framework_version": lasagne.__version__,
            "build": build_facts(),
            "settings": self._settings,
        }


def adam(gradients, variables, constants):
    """Lasagne's Adam with the paper's epsilon, as updates for `theano.function`.

    Lasagne adds its epsilon to sqrt(v), "epsilon hat" in Kingma & Ba (2015), section 2: the paper's, which is
    added to the corrected sqrt(v), is smaller by the correction there.
    """
    beta_1, beta_2 = constants["beta_1"], constants["beta_2"]
    step = theano.shared(np.float32(0))
    epsilon = constants["epsilon"] * T.sqrt(1 - beta_2 ** (step + 1))
    updates = lasagne.updates.adam(
        gradients, variables, constants["learning_rate"], beta_1, beta_2, epsilon
    )
    updates[step] = step + 1
    return updates


def build(workload, weights, device, phase):
    return Classifier(workload, weights, device, phase)
