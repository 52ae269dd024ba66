"""Programs of ten lines that show an error with a framework and NumPy alone: the same layers by a loop in float64.

The loop's weights are w (1 + 1e-30 i), so that imaginary parts are the derivative along w (Squire & Trapp 1998), which no rule
of a gradient enters. A program prints two relative errors: of the last step's outputs, and of that derivative.
"""

from collections.abc import Callable, Mapping

# Error of a program that shows nothing: one weight's share of a derivative may be small.
LARGEST = 1e-5
SUMS = {"lstm": 4, "gru": 3, "slstm": 4}
SIZES = ("length", "batch", "features", "hidden", "layers")
STATES = {"lstm": 2, "gru": 1, "slstm": 4}
UPDATES = {
    "lstm": "c = s[l][1] / (1 + m.exp(-f)) + m.tanh(g) / (1 + m.exp(-i)); "
    "h = m.tanh(c) / (1 + m.exp(-o)); s[l] = h, c",
    "gru": "n = m.tanh(n + k / (1 + m.exp(-r - p))); "
    "h = n + (s[l][0] - n) / (1 + m.exp(-z - q)); s[l] = (h,)",
    "slstm": "_, c, n, k = s[l]; e = m.maximum(f + k, i); i, f = m.exp(i - e), m.exp(f + k - e); "
    "c, n = f * c + i * m.tanh(g), f * n + i; h = c / n / (1 + m.exp(-o)); s[l] = h, c, n, e",
}
APART = {"r": "p", "z": "q", "n": "k"}  # a GRU's gates: products of x, and of h
ONE_BIAS = "(H if l else K, {n} * H), (H, {n} * H), 4 * H"
TWO_BIASES = "(H if l else K, {n} * H), (H, {n} * H), {n} * H, {n} * H"


def program(row: str, benchmark: Mapping) -> str | None:
    """One for an implementation and a benchmark's cell and sizes; `None`: there is none."""
    cell = benchmark.get("cell", "lstm")
    made = PROGRAMS.get(row)
    lines = made(cell, benchmark) if made else None
    return None if lines is None else "\n".join(lines) + "\n"


def shows(printed: str) -> bool:
    """Whether what a program printed is an error."""
    return not all(float(word) <= LARGEST for word in printed.split())


def _head(imports: str, cell: str, benchmark: Mapping, biases: str = TWO_BIASES) -> list[str]:
    sizes = ", ".join(str(benchmark[name]) for name in SIZES)
    shapes = biases.format(n=SUMS[cell])
    bound = benchmark.get("weight_range", 0.1)
    return [
        f"import numpy as np, {imports}; r, T, B, K, H, L = np.random.RandomState(0), {sizes}  # steps, batch, inputs, units, layers",
        f"x, w = r.uniform(-1, 1, (T, B, K)), [r.uniform(-{bound}, {bound}, s) * (1 + 1e-30j) "
        f"for l in range(L) for s in ({shapes})]",
    ]


def _step(cell: str, count: int, order: str = "") -> str:
    """The gates of layer l. count: weights of a layer; order: the gates, unless they are in ours."""
    w, r, b, d = (f"w[{count} * l{f' + {n}' if n else ''}]" for n in range(4))
    of_x, of_h = f"(s[l - 1][0] if l else x[t]) @ {w} + {b}", f"s[l][0] @ {r}"
    if count == 4:
        of_h += f" + {d}"
    if cell != "gru":
        names = ", ".join(order or "ifgo")
        return f"{names} = (({of_x} + {of_h})[:, j * H : j * H + H] for j in range(4))"
    if count == 3:  # the bias of the last gate's product of h comes last
        of_x, of_h = f"{of_x}[: 3 * H]", f"{of_h} + np.pad({b}[3 * H :], (2 * H, 0))"
    order = order or "rzn"
    names = ", ".join(order), ", ".join(APART[name] for name in order)
    return f"({names[0]}), ({names[1]}) = ([a[:, j * H : j * H + H] for j in range(3)] for a in ({of_x}, {of_h}))"


def _begin(cell: str, module: str) -> str:
    return f"[({module}.zeros((B, H)),) * {STATES[cell]}] * L"


def _own_layers(cell: str, head: list[str], lines: list[str], gates: str, shown: str) -> list[str]:
    """Of layers that a framework has: lines, then NumPy's loop."""
    update = UPDATES[cell].replace("m.", "np.")
    loop = ["for t, l in np.ndindex(T, L):", f"    {gates}", f"    {update}"]
    return [*head, *lines, *loop, f"print({shown})"]


def _operators(cell: str, head: list[str], lines: list[str]) -> list[str]:
    """Of a step in operators: a function, which lines call with a framework's module and with NumPy."""
    function = [
        "def layers(m, x, w, s):",
        "    for t, l in np.ndindex(x.shape[0], L):",
        f"        {_step(cell, 4)}",
        f"        {UPDATES[cell]}",
        "    return s",
    ]
    return [*head, *function, *lines, f"print({OUTPUTS}, {SLOPES})"]


_LOADED = (
    "for p, q in zip(layers.parameters(), w): p.data = torch.tensor(q.real{transposed}).float()"
)
_RUN = "y = layers(torch.tensor(x).float())[0][-1]; y.sum().backward(); y = y.detach().numpy()"
_SLOPE = "np.concatenate([(p * q).numpy().ravel() for p, q in zip(v, tape.gradient(y, v))])"
OUTPUTS = "abs(np.array(y) - h.real).max() / abs(h.real).max()"
SLOPES = "abs(d.sum() - h.imag.sum() * 1e30) / abs(d).sum()"


def _torch_operators(compiled: str) -> Callable:
    """compiled: what makes a function {f} of tensors v another one."""

    def made(cell: str, benchmark: Mapping) -> list[str]:
        called = (
            f"lambda *w: layers(torch, torch.tensor(x).float(), w, {_begin(cell, 'torch')})[-1][0]"
        )
        lines = [
            f"v = [torch.tensor(p.real).float().requires_grad_() for p in w]; y = {compiled.format(f=called)}(*v); y.sum().backward()",
            f"y, h, d = y.detach().numpy(), layers(np, x, w, {_begin(cell, 'np')})[-1][0], "
            "np.concatenate([(p.grad * p).detach().numpy().ravel() for p in v])",
        ]
        return _operators(cell, _head("torch", cell, benchmark), lines)

    return made


def _torch_layers(cell: str, benchmark: Mapping) -> list[str] | None:
    if cell == "slstm":
        return None
    lines = [
        f"layers, s = torch.nn.{cell.upper()}(K, H, L), {_begin(cell, 'np')}",
        _LOADED.format(transposed=".T"),
        _RUN,
    ]
    return _of_modules(cell, "torch", benchmark, lines, 4)


def _torch_cells(cell: str, benchmark: Mapping) -> list[str] | None:
    """nn.LSTMCell or nn.GRUCell, beside the loop's own step."""
    if cell == "slstm":
        return None
    lstm = cell == "lstm"
    begin, part = ("(torch.zeros(B, H),) * 2", "[0]") if lstm else ("torch.zeros(B, H)", "")
    lines = [
        f"layers = torch.nn.ModuleList(torch.nn.{cell.upper()}Cell(H if l else K, H) for l in range(L))",
        _LOADED.format(transposed=".T"),
        f"u, a, s = torch.tensor(x).float(), [{begin}] * L, {_begin(cell, 'np')}",
    ]
    found = _of_modules(cell, "torch", benchmark, lines, 4)
    found.insert(-3, f"    a[l] = layers[l](a[l - 1]{part} if l else u[t], a[l])")
    end = f"a[-1]{part}.sum().backward(); y = a[-1]{part}.detach().numpy(); "
    return [*found[:-1], end + found[-1]]


def _of_modules(
    cell: str, imports: str, benchmark: Mapping, lines: list[str], count: int
) -> list[str]:
    given = "np.concatenate([(p.grad * p).detach().numpy().ravel() for p in layers.parameters()])"
    shown = f"{OUTPUTS}, {SLOPES.replace('d.sum', f'(d := {given}).sum')}"
    head = _head(imports, cell, benchmark, ONE_BIAS if count == 3 else TWO_BIASES)
    return _own_layers(cell, head, lines, _step(cell, count), shown)


def _recurrent(cell: str, benchmark: Mapping) -> list[str]:
    lines = [
        f'layers, s = recurrent_cells.Recurrent("{cell}", K, H, L), {_begin(cell, "np")}',
        _LOADED.format(transposed=""),
        _RUN,
    ]
    return _of_modules(cell, "recurrent_cells, torch", benchmark, lines, 3)


def _onnx(imports: str, run: str) -> Callable:
    def made(cell: str, benchmark: Mapping) -> list[str] | None:
        if cell == "slstm":
            return None
        length, batch, features, hidden, layers = (benchmark[name] for name in SIZES)
        kind = f"hidden_size = {hidden}" + (", linear_before_reset = 1" if cell == "gru" else "")
        nodes = "".join(
            f" b{n} = Concat <axis = 1> (p{n}, q{n}) d{n} = {cell.upper()} <{kind}> (x{n}, W{n}, R{n}, b{n})"
            f" x{n + 1} = Squeeze (d{n}, axis)"
            for n in range(layers)
        )
        graph = (
            f"g (float[{length}, {batch}, {features}] x0) => (float[{length}, {batch}, {hidden}] x{layers}) "
            f"{{ axis = Constant <value_ints = [1]> (){nodes} }}"
        )
        lines = [
            f"""m = onnx.parser.parse_model('<ir_version: 9, opset_import: ["" : 17]> {graph}')""",
            "m.graph.initializer.extend(onnx.numpy_helper.from_array(np.float32(p.real).T[None], "
            '"WRpq"[n % 4] + str(n // 4)) for n, p in enumerate(w))',
            f"y, s = {run}[-1], {_begin(cell, 'np')}",
        ]
        gates = _step(cell, 4, "iofg" if cell == "lstm" else "zrn")
        return _own_layers(cell, _head(imports, cell, benchmark), lines, gates, OUTPUTS)

    return made


def _jax(function: str, gradient: str) -> Callable:
    """function: of v, with {begin} states; gradient: of the function f of v's sum."""

    def made(cell: str, benchmark: Mapping) -> list[str]:
        begin = _begin(cell, "jnp")
        lines = [
            "v = [jnp.float32(p.real) for p in w]; f = lambda w: " + function.format(begin=begin),
            f"h, d = layers(np, x, w, {_begin(cell, 'np')})[-1][0], "
            f"np.concatenate([(p * q).ravel() for p, q in zip(v, {gradient}(v))]); y = f(v)",
        ]
        return _operators(cell, _head("jax, jax.numpy as jnp", cell, benchmark), lines)

    return made


def _tensorflow(function: str, called: str) -> Callable:
    """function: of nothing, with {begin} states; called: what makes it another one."""

    def made(cell: str, benchmark: Mapping) -> list[str]:
        told = function.format(begin=_begin(cell, "tf"))
        lines = [
            f"with tf.GradientTape() as tape: y = {called.format(f=f'lambda: {told}')}()",
            f"h, d = layers(np, x, w, {_begin(cell, 'np')})[-1][0], {_SLOPE}",
        ]
        head = _head("tensorflow as tf", cell, benchmark)
        head[-1] += "; v = [tf.Variable(np.float32(p.real)) for p in w]"
        return _operators(cell, head, lines)

    return made


def _block(cell: str, benchmark: Mapping) -> list[str] | None:
    """TensorFlow's BlockLSTM: one layer."""
    if cell != "lstm" or benchmark["layers"] > 1:
        return None
    lines = [
        "W, R, b = v = [tf.Variable(np.float32(p.real)) for p in w]; o, z, s = tf.zeros((B, H)), tf.zeros(H), "
        + _begin(cell, "np"),
        "with tf.GradientTape() as tape: y = tf.raw_ops.BlockLSTM(seq_len_max=T, x=np.float32(x), cs_prev=o, h_prev=o, "
        "w=tf.concat([W, R], 0), wci=z, wcf=z, wco=z, b=b, forget_bias=0)[6][-1]",
        f"d = {_SLOPE}",
    ]
    head = _head("tensorflow as tf", cell, benchmark, ONE_BIAS)
    return _own_layers(cell, head, lines, _step(cell, 3, "igfo"), f"{OUTPUTS}, {SLOPES}")


_MODEL = "m.SerializeToString()"
_ORT = f'onnxruntime.InferenceSession({_MODEL}).run(None, {{"x0": np.float32(x)}})[0]'
_OPENVINO = (
    f'openvino.compile_model(openvino.Core().read_model({_MODEL}), "CPU", '
    '{"INFERENCE_PRECISION_HINT": "f32"})(np.float32(x))[0]'
)
_JAX = "layers(jnp, jnp.float32(x), w, {begin})[-1][0]"
_SCAN = (
    "jax.lax.scan(lambda s, x: (layers(jnp, x[None], w, list(s)), 0), {begin}, "
    "jnp.float32(x))[0][-1][0]"
)
_GRAD = "jax.grad(lambda w: f(w).sum())"
_TF = "layers(tf, np.float32(x), v, {begin})[-1][0]"
_FOLD = "tf.foldl(lambda s, x: layers(tf, x[None], v, list(s)), np.float32(x), {begin})[-1][0]"
PROGRAMS: dict[str, Callable[[str, Mapping], list[str] | None]] = {
    "pytorch/fine-grained": _torch_operators("({f})"),
    "pytorch/fine-grained-jit": _torch_operators("torch.jit.trace({f}, tuple(v))"),
    "pytorch/compiled": _torch_operators("torch.compile({f})"),
    "pytorch/cell": _torch_cells,
    "pytorch/fused": _torch_layers,
    "recurrent_cells/module": _recurrent,
    "onnxruntime/lstm": _onnx("onnx, onnxruntime", _ORT),
    "openvino/lstm": _onnx("onnx, openvino", _OPENVINO),
    "jax/fine-grained": _jax(_JAX, _GRAD),
    "jax/unrolled": _jax(_JAX, f"jax.jit({_GRAD})"),
    "jax/scan": _jax(_SCAN, f"jax.jit({_GRAD})"),
    "tensorflow/eager-fine-grained": _tensorflow(_TF, "({f})"),
    "tensorflow/graph-unrolled": _tensorflow(_TF, "tf.function({f}, autograph=False)"),
    "tensorflow/graph-while": _tensorflow(_FOLD, "tf.function({f}, autograph=False)"),
    "tensorflow/graph-block": _block,
}
