"""The sizes of a benchmark: what can be said of it without its data, and without NumPy."""

from collections import OrderedDict, namedtuple

from measurement import precision
from measurement.cells import CELLS, columns, stacked


class Shapes(object):
    """Sizes of one benchmark.

    Attributes: vocabulary V (None unless a language model), features D (width of the first layer's input: a
    token's vector, or the dense input), layers, hidden H (of one direction), length T, batch B, threads
    (CPU threads to use), all int; cell (a name of `cells`); bidirectional (bool: a layer runs both ways, its two outputs side by side);
    outputs C (width of the projection, a language model's V; None for bare layers); loss (see
    `Workload.batches`; None for bare layers); data_type (see precision.py) of the products.
    """

    def __init__(self, benchmark, batch=None, threads=1):
        """benchmark: its entry in config/documents; batch overrides B."""
        self.vocabulary = benchmark.get("vocabulary")
        self.features = benchmark["embedding" if self.vocabulary else "features"]
        self.layers = benchmark["layers"]
        self.hidden = benchmark["hidden"]
        self.cell = benchmark.get("cell", "lstm")
        self.bidirectional = benchmark.get("bidirectional", False)
        self.outputs = benchmark.get("outputs", self.vocabulary)
        self.loss = benchmark.get("loss", "ce" if self.vocabulary else None)
        self.data_type = benchmark.get("data_type", precision.FLOAT32)
        self.length = benchmark["length"]
        self.batch = batch or benchmark["batch"]
        self.threads = threads

    def shapes(self):
        """The weights by name, in order: {name: shape}.

        embedding [V, D]; for each layer l, of an LSTM, lstm.l.input [D, 4H], lstm.l.recurrent [H, 4H], lstm.l.bias [4H],
        gates i, f, g, o, where D is H after the first layer; of another cell as many as it has gates and biases
        (`cells`), under the same names, and lstm.l.vectors, one after another, if it has some; if layers run both ways,
        for the other direction lstm.l.reverse.input, .recurrent and .bias, and D is 2H after the first layer;
        projection.weight [H or 2H, C], and of a language model projection.bias [C]. Bare layers have those
        of their layers only.
        """
        hidden, directions = self.hidden, ["", "reverse."] if self.bidirectional else [""]
        cell = CELLS[self.cell]
        width = len(directions) * hidden
        shapes = OrderedDict()
        if self.vocabulary:
            shapes["embedding"] = (self.vocabulary, self.features)
        for layer in range(self.layers):
            for direction in directions:
                prefix = "lstm.%d.%s" % (layer, direction)
                shapes[prefix + "input"] = (
                    width if layer else self.features,
                    len(cell.of_x) * hidden,
                )
                shapes[prefix + "recurrent"] = (hidden, columns(cell) * hidden // cell.heads)
                shapes[prefix + "bias"] = (len(cell.biases) * hidden,)
                if cell.vectors:
                    shapes[prefix + "vectors"] = (len(cell.vectors) * hidden,)
        if self.outputs:
            shapes["projection.weight"] = (width, self.outputs)
        if self.vocabulary:
            shapes["projection.bias"] = (self.outputs,)
        return shapes

    def parameters(self):
        """How many weights there are."""
        total = 0
        for shape in self.shapes().values():
            size = 1
            for side in shape:
                size *= side
            total += size
        return total


Product = namedtuple("Product", "role times rows depth columns")
"""`times` matrix products of one size, one after the other. By role: FORWARD, x [rows, depth] by w [depth, columns];
OF_INPUT, its gradient d [rows, columns] by w transposed; OF_WEIGHT, x transposed by d."""

FORWARD, OF_INPUT, OF_WEIGHT = "forward", "of-input", "of-weight"

# How a style multiplies a layer's input and its state with their weights.
HOISTED = "hoisted"  # the input for all steps at once, the state step by step
JOINED = "joined"  # side by side, in one product a step
SEPARATE = "separate"  # in two products a step
LARGE = "large"  # not an LSTM: both side by side for up to CHUNK steps at once
CHUNK = 32


def products(sizes, phase, form):
    """The matrix products of one batch of a model, `sizes` (a Shapes), as a style calls them: [Product, ...].

    Training has the transposed ones that back-propagation needs: none for the gradient of a dense input, of which
    no weight is the cause, nor, where the state has a product of its own, for that of the zeros which come first.
    """
    found, directions = [], 2 if sizes.bidirectional else 1
    steps, batch, hidden = sizes.length, sizes.batch, sizes.hidden
    cell = CELLS[sizes.cell]
    of_x, of_h = len(cell.of_x) * hidden, columns(cell) * hidden
    joined, depth = stacked(cell), hidden // cell.heads
    last = 1 if sizes.loss == "ce-last" else steps  # steps that are projected

    def add(times, rows, depth, columns, of_input):
        """of_input: how many of the products need a gradient of their input."""
        if times and columns:
            found.append(Product(FORWARD, times, rows, depth, columns))
        if times and columns and phase == "training":
            found.append(Product(OF_WEIGHT, times, rows, depth, columns))
            if of_input:
                found.append(Product(OF_INPUT, of_input, rows, depth, columns))

    def add_in_chunks(all_steps, depth, columns, wanted):
        whole, rest = divmod(all_steps, CHUNK) if form == LARGE else (1, 0)
        rows = batch * (CHUNK if form == LARGE else all_steps)
        add(whole, rows, depth, columns, whole * wanted)
        add(1 if rest else 0, batch * rest, depth, columns, wanted)

    for layer in range(sizes.layers):
        width = directions * hidden if layer else sizes.features
        wanted = 1 if layer or sizes.vocabulary else 0
        for _ in range(directions):
            if form == LARGE:
                if joined:
                    add_in_chunks(steps, width + hidden, of_x, 1)
                else:
                    add_in_chunks(steps, width, of_x, 1)
                    add_in_chunks(steps, depth, of_h, 1)
            elif form == JOINED and joined:
                add(steps, batch, width + hidden, of_x, steps)
            else:
                if form == HOISTED:
                    add(1, steps * batch, width, of_x, wanted)
                else:
                    add(steps, batch, width, of_x, steps * wanted)
                add(steps, batch, depth, of_h, steps - 1)
    if sizes.outputs:
        add_in_chunks(last, directions * hidden, sizes.outputs, 1)
    return found


def flops(found):
    """Floating-point operations of some products."""
    return sum(2 * each.times * each.rows * each.depth * each.columns for each in found)


def forward_flops(benchmark):
    """Floating-point operations of the matrix products of a benchmark's forward pass: the layers', and a language model's
    projection."""
    return flops(products(Shapes(benchmark), "forward", HOISTED))
