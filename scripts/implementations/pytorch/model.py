"""All workloads in PyTorch, without their LSTM layers: what every style here shares.

A style gives `stack(x [T, B, D], layers) -> h [T, B, H]`, `layers` being one tuple
(w_input [4H, D], w_recurrent [4H, H], bias [4H]) a layer, of a cell with vectors a fourth. Those are PyTorch's own layouts, the
transposes of the canonical ones, so that its kernels need no copy; its gates already stand in the
canonical order i, f, g, o. Layers that run both ways are stacks of one layer each, put together here.

Where the workload carries a state, a stack is `stack(x, layers, state) -> h, state`, the state being what the last
call returned, a sequence of tensors, and None for zeros. A style may give `layer(x, h, c, w_input, w_recurrent, bias)
-> h [T, B, H], h [B, H], c [B, H]` instead, one layer from a state.
"""

import contextlib
import os
import sys
import tempfile
import time

import numpy as np
import torch
import torch.nn.functional as F

from measurement import departures, precision
from measurement.contract import Runner, Unsupported, require_cell
from measurement.workload import BLANK, layer_weights, reversal

ASKED = 3  # batches of which the middle one tells where its time goes


class Model(Runner):
    """Embedding, if any -> stack -> projection, if any (-> loss -> update)."""

    def __init__(
        self, workload, weights, device, phase, stack=None, layer=None, cells=("lstm",), reason=None
    ):
        """Arguments as in contract.py; raises Unsupported where PyTorch sees no GPU to use. A style that
        computes all kinds of stacks in one call sets `runner.stack` itself. cells: those that the style has; reason:
        why no others."""
        require_cell(workload, cells, reason or "this style is written for LSTMs")
        self.flush_to_zero = workload.departure != departures.DENORMALS
        self.device = configure(workload.threads, device, self.flush_to_zero)
        self.training = phase == "training"
        self.recording = self.training or workload.departure == departures.GRADIENTS_RECORDED
        self.workload = workload
        self.stack = stack
        if workload.bidirectional and stack:
            self.stack = both_ways(stack, self.order())
        if workload.carried and stack:
            if not layer:
                raise Unsupported("this form of the LSTM starts every batch from a zero state")
            self.stack = from_state(layer, self.dropped)
        self.weights = {
            name: torch.nn.Parameter(
                torch.tensor(to_torch(name, value), device=self.device),
                requires_grad=self.recording,
            )
            for name, value in weights.items()
        }
        self.layers = layer_weights(self.weights)
        if self.training:
            self.optimizer, self.optimizer_form = optimizer(
                self.weights.values(), workload.optimizer
            )
        if workload.data_type == precision.INT8 and "projection.weight" in self.weights:
            self.project = self.rounded_projection()

    def rounded_projection(self):
        """`project` in int8."""
        linear = torch.nn.Linear(*self.weights["projection.weight"].shape[::-1])
        linear.weight = self.weights["projection.weight"]
        linear.bias = self.weights.get("projection.bias")
        return rounded(linear)

    def reset(self, state=None):
        self.carried = state and tuple(torch.from_numpy(each).to(self.device) for each in state)

    def state(self):
        return [each.cpu().numpy().copy() for each in self.carried or []]

    def dropped(self, x):
        """x with dropout, in training."""
        if not (self.training and self.workload.dropout):
            return x
        return F.dropout(x, self.workload.dropout)

    def order(self):
        """Rows of [T * B, D] in the order in which they are read backwards; None where that is plain flipping."""
        if self.workload.lengths is None:
            return None
        batch = self.workload.batch
        order = reversal(self.workload.length, batch, self.workload.lengths)  # [T, B]
        return torch.from_numpy(order * batch + np.arange(batch)).view(-1).to(self.device)

    def output(self, inputs):
        """inputs on the device, int64 [T, B] or float32 [T, B, D] -> logits [T, B, C], those of the last step
        [B, C], or h [T, B, H]; see contract.py."""
        h = self.top(inputs)
        return self.project(h) if "projection.weight" in self.weights else h

    def top(self, inputs):
        """inputs as of `output` -> h [T, B, H] of the last layer; of its last step [B, H] where no other counts."""
        x = (
            F.embedding(inputs, self.weights["embedding"])
            if "embedding" in self.weights
            else inputs
        )
        if self.workload.carried:
            h, state = self.stack(self.dropped(x), self.layers, self.carried)  # [T, B, H]
            h, self.carried = self.dropped(h), tuple(each.detach() for each in state)
        else:
            h = self.stack(x, self.layers)
        return h[-1] if self.workload.loss == "ce-last" else h

    def project(self, h):
        """h [..., H] -> logits [..., C]"""
        rows = h.reshape(
            -1, h.size(-1)
        )  # matrices: bias and product in one operator in every version
        logits = F.linear(
            rows, self.weights["projection.weight"], self.weights.get("projection.bias")
        )
        return logits.view(h.shape[:-1] + (-1,))

    def loss(self, logits, targets):
        """See Workload.batches."""
        if self.workload.loss != "ctc":
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
            return loss * len(targets) if self.workload.loss == "ce-sum" else loss
        batch, labels = targets.shape
        lengths = torch.from_numpy(self.workload.lengths)
        label_counts = torch.full((batch,), labels, dtype=torch.long)
        log_p = logits.log_softmax(2)
        total = F.ctc_loss(log_p, targets, lengths, label_counts, blank=BLANK, reduction="sum")
        return total / batch

    def step(self, inputs, targets):
        if not self.training:
            with torch.enable_grad() if self.recording else inference(), self.cast():
                return self.output(self.feed(inputs))
        with self.cast():
            loss = self.objective(self.feed(inputs), self.feed(targets))
        return self.updated(loss)

    def cast(self):
        """Where operators compute in half precision: weights, gradients and updates are float32."""
        if self.workload.data_type != precision.BFLOAT16:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, getattr(torch, self.workload.data_type))

    def precision(self, inputs, targets):
        """oneDNN's primitives of a step by what they read, from its log, which goes to the standard output; in int8, whose
        kernels come from several libraries, the operators of a step by PyTorch's profiler."""
        if self.workload.data_type == precision.INT8:
            with torch.profiler.profile() as profile:
                self.step(inputs, targets)
            return operators({each.key: each.count for each in profile.key_averages()})
        verbose = torch.backends.mkldnn
        sys.stdout.flush()
        with tempfile.TemporaryFile() as log:
            kept = os.dup(1)
            os.dup2(log.fileno(), 1)
            try:
                with verbose.verbose(verbose.VERBOSE_ON):
                    self.step(inputs, targets)
            finally:
                os.dup2(kept, 1)
                os.close(kept)
            log.seek(0)
            return primitives(log.read().decode().splitlines())

    def objective(self, inputs, targets):
        """The loss of a batch on the device."""
        return self.objective_of(self.top(inputs), targets)

    def objective_of(self, h, targets):
        """h as `top` gives it -> the loss."""
        return self.loss(self.project(h), targets)

    def updated(self, loss):
        """One update of the weights -> the loss and the gradients that made it."""
        for weight in self.weights.values():
            weight.grad = None  # backward then hands its tensors over instead of adding to zeros
        loss.backward()
        if "clip_norm" in self.workload.optimizer:
            clip = torch.nn.utils.clip_grad_norm_
            clip(list(self.weights.values()), self.workload.optimizer["clip_norm"])
        self.optimizer.step()
        # An empty matrix, of a cell without products of h, is in no product and gets no gradient.
        return loss, {
            name: weight.grad if weight.numel() else torch.zeros_like(weight)
            for name, weight in self.weights.items()
        }

    def feed(self, array):
        """A host array, or what `laid_out` or `on_device` made of it, on the device."""
        tensor = array if isinstance(array, torch.Tensor) else torch.from_numpy(array)
        return tensor.to(self.device, non_blocking=True)

    def laid_out(self, inputs, targets):
        """In pinned memory, as a loader hands batches over: their copies to a GPU wait for nothing that is queued there."""
        if self.device.type == "cpu":
            return inputs, targets
        given = (inputs, targets)
        return tuple(
            None if each is None else torch.from_numpy(each).pin_memory() for each in given
        )

    def on_device(self, inputs, targets):
        batch = self.feed(inputs), None if targets is None else self.feed(targets)
        self.synchronise()
        return batch

    def synchronise(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def loss_of(self, handle):
        return handle[0].item()

    def results(self, handle):
        if not self.training:
            return {"output": handle.detach().float().cpu().numpy()}
        loss, gradients = handle
        return {"loss": loss.item(), "gradients": canonical(gradients)}

    def parameters(self):
        return canonical(self.weights)

    def describe(self):
        settings = {
            "threads": torch.get_num_threads(),
            "inter_op_threads": torch.get_num_interop_threads(),
            "flush_to_zero": self.flush_to_zero,
            "onednn": onednn(),
            "mkl_debug_cpu_type": os.environ.get("MKL_DEBUG_CPU_TYPE"),
        }
        build = {"configuration": torch.__config__.show(), "instructions": instructions()}
        if self.training:
            settings["optimizer"] = self.optimizer_form
        if self.device.type == "cuda":
            settings.update(cuda_settings())
            build.update(
                cuda=torch.version.cuda,
                cudnn=torch.backends.cudnn.version(),
            )
        return {
            "framework": "PyTorch",
            "framework_version": torch.__version__,
            "build": build,
            "settings": settings,
        }

    def device_times(self, inputs, targets):
        return (
            device_times(lambda: self.step(inputs, targets)) if self.device.type == "cuda" else None
        )

    def device_peak_bytes(self):
        if self.device.type == "cuda":
            return torch.cuda.max_memory_allocated(self.device)
        return None


def rounded(module):
    """nn.LSTM, nn.GRU or nn.Linear with its weights in int8, which what comes in is rounded to at every call."""
    kinds = {torch.nn.LSTM, torch.nn.GRU, torch.nn.Linear}
    return torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(module), kinds)[0]


def operators(counts):
    """{"int8": {operator: count}, "float32": ...} of a profile's counts, products and recurrent layers only."""
    found = {precision.INT8: {}, precision.FLOAT32: {}}
    for name, count in counts.items():
        if "quantized" in name:
            found[precision.INT8][name] = count
        elif name in ("aten::mm", "aten::addmm", "aten::bmm", "aten::mkldnn_rnn_layer"):
            found[precision.FLOAT32][name] = count
    return found


def primitives(lines):
    """{"bfloat16": {"matmul (its kernel)": count, ...}, "float32": ...} of oneDNN's log, products and recurrent layers
    only: lines like onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core_bf16,undef,src:bf16::..."""
    found = {precision.BFLOAT16: {}, precision.FLOAT32: {}}
    for line in lines:
        _, executed, after = line.partition("exec,cpu,")
        kind, kernel = (after.split(",") + [""])[:2]
        if executed and kind in ("matmul", "inner_product", "rnn"):
            counts = found[precision.BFLOAT16 if ":bf16:" in after else precision.FLOAT32]
            name = "%s (%s)" % (kind, kernel)
            counts[name] = counts.get(name, 0) + 1
    return found


def onednn():
    """Whether oneDNN (MKL-DNN) is in this build and on."""
    backend = getattr(torch.backends, "mkldnn", None)
    found = backend.is_available() if backend else torch._C.has_mkldnn
    return bool(found and getattr(backend, "enabled", True))


def instructions():
    """The instruction set that this build's own kernels use here, as it says; of one that does not, those it has."""
    if hasattr(getattr(torch.backends, "cpu", None), "get_cpu_capability"):
        return torch.backends.cpu.get_cpu_capability()
    built = torch.__config__.show()
    return " ".join(name for name in ("AVX", "AVX2", "AVX512") if "PERF_WITH_%s=1" % name in built)


def device_times(step):
    """See Runner.device_times."""
    launches, spans = [], []
    for _ in range(ASKED):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start = time.perf_counter()
        begin.record()
        step()
        end.record()
        launches.append(time.perf_counter() - start)
        torch.cuda.synchronize()
        spans.append(begin.elapsed_time(end) / 1e3)
    found = {"launched_s": float(np.median(launches)), "span_s": float(np.median(spans))}
    seconds = kernel_seconds(step)
    # None at all: counters that this system keeps to itself.
    return dict(found, kernel_s=sum(seconds) if seconds else None, kernels=len(seconds) or None)


def kernel_seconds(step):
    """Of each kernel and copy of a step on a GPU; [] where no profiler tells."""
    try:
        kind = torch.profiler.ProfilerActivity.CUDA
        with torch.profiler.profile(activities=[kind]) as profile:
            step()
            torch.cuda.synchronize()
        on_gpu = torch.autograd.DeviceType.CUDA
        return [
            event.time_range.elapsed_us() / 1e6
            for event in profile.events()
            if event.device_type == on_gpu and not getattr(event, "is_user_annotation", False)
        ]
    except (AttributeError, RuntimeError):  # before 1.8, or a profiler that cannot begin
        return []


def both_ways(stack, order):
    """A stack of layers that run both ways out of a style's stack of layers that run one way.

    order: see Model.order. The reverse direction of a short sequence begins at its own end.
    """

    def backwards(x):
        """x [T, B, D] with the steps of each sequence in reverse; what comes after its end stays."""
        if order is None:
            return x.flip(0)
        return x.reshape(-1, x.size(2)).index_select(0, order).view_as(x)

    def lstm_stack(x, layers):
        """x [T, B, D], layers: two entries a layer, forward and reverse -> h [T, B, 2H]."""
        for forward, reverse in zip(layers[::2], layers[1::2]):
            x = torch.cat([stack(x, [forward]), backwards(stack(backwards(x), [reverse]))], 2)
        return x

    return lstm_stack


def from_state(layer, dropped):
    """A stack that carries a state, [h, c, h, c, ...] bottom up, out of a style's single layer; `dropped` between
    layers."""

    def lstm_stack(x, layers, state):
        """x [T, B, D] -> h [T, B, H], state."""
        if state is None:
            hidden = layers[0][1].size(1)
            state = [x.new_zeros(x.size(1), hidden) for _ in range(2 * len(layers))]
        after = []
        for number, weights in enumerate(layers):
            x, h, c = layer(
                dropped(x) if number else x, *state[2 * number : 2 * number + 2], *weights
            )
            after += [h, c]
        return x, after

    return lstm_stack


def from_zeros(layer):
    """A stack that begins from zero states out of a style's single layer."""

    def lstm_stack(x, layers):
        """x [T, B, D] -> h [T, B, H]"""
        for weights in layers:
            zeros = x.new_zeros(x.size(1), weights[1].size(1))
            x, _, _ = layer(x, zeros, zeros, *weights)
        return x

    return lstm_stack


def configure(threads, device, flush_to_zero=True):
    """Set what is global to the process, before the first operator; -> torch.device."""
    torch.set_num_threads(threads)
    if torch.get_num_interop_threads() != 1:  # it can be set only once a process
        torch.set_num_interop_threads(1)  # operators run one after the other in every style
    # Denormal numbers made nn.LSTM 20 times slower (12 s instead of 0.58 s for 1x320 at 32x250). The
    # switch belongs to a thread and is inherited by those it starts later: hence before any operator.
    torch.set_flush_denormal(flush_to_zero)
    if device == "cpu":
        return torch.device("cpu")
    try:
        torch.ones(1, device="cuda").add(1).item()
    except (RuntimeError, AssertionError) as error:
        if "out of memory" in str(error):
            raise
        # No CUDA in this build, no GPU, too old a driver, or no kernels for so new a GPU: its own words.
        words = " ".join(str(error).split())[:200]
        raise Unsupported("PyTorch %s cannot use a GPU here: %s" % (torch.__version__, words))
    pin_cuda()
    return torch.device("cuda")


def pin_cuda():
    """Float32 products in float32, and cuDNN's algorithms not picked by timing trials."""
    torch.backends.cudnn.enabled = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = False  # no algorithm is ruled out for its order of sums
    for backend in _with_tf32():
        backend.allow_tf32 = False


def cuda_settings():
    """What pin_cuda set, read back."""
    cudnn = torch.backends.cudnn
    return {
        "tf32": any(backend.allow_tf32 for backend in _with_tf32()),
        "cudnn": cudnn.enabled,
        "cudnn_autotune": cudnn.benchmark,
        "deterministic": cudnn.deterministic,
    }


def _with_tf32():
    """The libraries with a switch for TF32; versions without one have no TF32."""
    backends = (torch.backends.cudnn, getattr(torch.backends.cuda, "matmul", None))
    return [backend for backend in backends if hasattr(backend, "allow_tf32")]


def inference():
    """The cheapest mode without gradient recording that this version has."""
    return torch.inference_mode() if hasattr(torch, "inference_mode") else torch.no_grad()


def optimizer(weights, constants):
    """The optimizer in the most fused form that this version has for this device; -> (it, form)."""
    weights = list(weights)
    kind, options = torch.optim.SGD, {"lr": constants["learning_rate"]}
    if constants["name"] == "adam":
        kind = torch.optim.Adam
        options.update(betas=(constants["beta_1"], constants["beta_2"]), eps=constants["epsilon"])
    for form in ("fused", "foreach"):
        try:
            return kind(weights, **dict(options, **{form: True})), form
        except (TypeError, RuntimeError):  # an unknown argument, or no such kernel for the device
            pass
    return kind(weights, **options), "plain"


def to_torch(name, value):
    """A canonical array in PyTorch's layout, and back: matrices of a product are transposed."""
    matrix = value.ndim == 2 and name != "embedding"
    return np.ascontiguousarray(value.T if matrix else value)


def canonical(tensors):
    """{name: tensor} in PyTorch's layout -> {name: float32 array}, copies in the canonical layout."""
    return {
        name: to_torch(name, tensor.detach().cpu().numpy()).copy()
        for name, tensor in tensors.items()
    }
