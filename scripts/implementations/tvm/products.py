"""The model's matrix products by the template's micro-kernel, as its steps call them: input and state side by side, each
core its rows of all steps; in training, the logits of as many tokens at a time as the template holds."""

import numpy as np

from implementations.products import Products
from kernels.runtime import set_threads
from kernels.search.space import vector_unit
from kernels.target import cpu_target
from measurement import instructions
from measurement.contract import Unsupported
from measurement.shapes import JOINED, OF_INPUT, OF_WEIGHT


def _divided(product, arrays, most):
    """A product of more than `most` rows as several of fewer."""
    count = -(-product.rows // most)
    while product.rows % count:
        count += 1
    if product.times > 1 or count == 1:
        return product, arrays
    shape = (count, product.rows // count, -1)
    right = arrays[1].reshape(shape) if product.role == OF_WEIGHT else arrays[1]
    return product._replace(times=count, rows=shape[1]), [arrays[0].reshape(shape), right]


class MatrixProducts(Products):
    def __init__(self, workload, device, phase, form):
        if device == "gpu":
            raise Unsupported("the template is written for CPUs")
        set_threads(workload.threads)
        self.threads, self.phase = workload.threads, phase
        self.sizes = workload.hidden, workload.vocabulary or 1
        self.target = cpu_target(workload.threads, instructions.visible(workload.isa))
        Products.__init__(self, workload, phase, form)

    def prepare(self):
        import tvm
        from tvm.runtime import tensor

        from kernels.products import add_product, packed
        from kernels.template.blocking import rows_at_once
        from kernels.template.tiles import Functions

        unit, functions, operands = vector_unit(self.target), Functions(), []
        if self.phase == "training":
            most = rows_at_once(unit.core, *self.sizes)
            divided = [_divided(*each, most=most) for each in zip(self.products, self.arrays)]
            self.products, self.arrays = map(list, zip(*divided))
        for number, (product, (left, right)) in enumerate(zip(self.products, self.arrays)):
            right = packed(right.T if product.role == OF_INPUT else right, unit)
            add_product(
                functions,
                "product_%d" % number,
                left.shape,
                right.shape,
                product.role == OF_WEIGHT,
                unit,
                self.threads,
            )
            result = np.zeros(functions.shapes["product_%d" % number]["result"], np.float32)
            operands.append([tensor(each) for each in (left, right, result)])
        module = tvm.ir.IRModule(functions.made)
        library = tvm.compile(module, target=tvm.target.Target(self.target)).jit()
        self.calls = [(library[name], given) for name, given in zip(functions.made, operands)]

    def step(self, inputs, targets):
        for run, operands in self.calls:
            run(*operands)

    def fetch(self, handle):
        """Without the columns that pad."""
        found = []
        for product, (_, (_, _, result)) in zip(self.products, self.calls):
            columns = product.depth if product.role == OF_INPUT else product.columns
            found.append(np.from_dlpack(result)[:, :columns])
        return found

    def describe(self):
        import tvm

        return {
            "framework": "TVM",
            "framework_version": tvm.__version__,
            "build": {"target": self.target},
            "settings": dict(self.settings(), threads=self.threads),
        }


def build(workload, weights, device, phase):
    return MatrixProducts(workload, device, phase, JOINED)
