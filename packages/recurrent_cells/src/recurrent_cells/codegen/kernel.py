"""A cell's kernel: C functions on addresses, for any batch, length and size. The caller owns all memory."""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..cells.language import Cell
from . import prebuilt
from .library import CompilerError, library, openmp
from .source import c_source


class Shape(NamedTuple):
    """T steps of B rows, K inputs, H hidden units, and P outputs: H, unless the cell's output is projected."""

    steps: int
    batch: int
    inputs: int
    hidden: int
    outputs: int


class Strided(NamedTuple):
    """An array [T, B, n]: the address of its first value, and how many values a step and a row are apart."""

    address: int
    step: int
    row: int


class Sizes(NamedTuple):
    """Floats that the arrays want, for any lengths of sequences."""

    packed: int
    packed_backward: int
    tape: int
    scratch: int
    scratch_backward: int


NOWHERE = Strided(0, 0, 0)

DIGEST = 64
"""Bytes of a digest of weights, at most."""

_INTEGERS = ("steps", "batch", "inputs", "hidden", "outputs", "threads", "reverse", "pack")
_STRIDED = ("x", "y", "d_y", "d_x")
_ADDRESSES = ("packed", "tape", "scratch", "lengths", "resets", "known", "digest")

_kernels: dict[str, Kernel] = {}
_lock = threading.Lock()
_forked = False


def _after_fork() -> None:
    """The threads of OpenMP are not in a forked child, where its library would wait for them."""
    global _lock, _forked
    _lock, _forked = threading.Lock(), True
    for kernel in _kernels.values():
        kernel._library.use_openmp(None, None, None)


os.register_at_fork(after_in_child=_after_fork)


def _loaded(source: str, name: str) -> ctypes.CDLL:
    """The library of a source; one that was installed with this package only where there is no compiler."""
    try:
        return library(source, name)
    except CompilerError:
        found = prebuilt.find(source, name)
        if found is None:
            raise
        return ctypes.CDLL(str(found))


class Kernel:
    """The compiled functions of a cell. `Kernel.of` gives the same one for the same cell.

    Addresses are those of contiguous float32 arrays; 0 is an array that is not given, or not wanted. Of a `half` kernel, x, y,
    d_x, d_y and the output's initial and final state are bfloat16. Its sums, other states and updates are float32, also
    its weights as they are given, and their gradients. An `int8` kernel has no `backward`: `pack` rounds each column of a matrix,
    and `forward` each row that is multiplied, to 127 steps of its largest value.

    Attributes
    ----------
    sizes : function of (shape, threads=1)
        `Sizes`: floats of each array; `packed` and `packed_backward` depend on K, H and P alone.
    has_products : bool
        Whether this machine multiplies these numbers by instructions of their own. bfloat16 is widened where it does not.
    """

    def __init__(self, cell: Cell, source: str, half: bool = False, int8: bool = False) -> None:
        self.cell, self.half, self.int8 = cell, half, int8
        # States with one value per unit come first in C.
        places = [*cell.vector_states, *cell.squares]
        self._places = [cell.states.index(name) for name in places]
        self._weights = 3 + len(cell.vectors) + cell.projected
        self._library = _loaded(source, cell.name)
        self.has_products = bool(self._library.has_products())
        self._call = self._call_type()
        self.sizes = functools.lru_cache(maxsize=1024)(self._sizes)
        self._threads_found = False

    @classmethod
    def of(cls, cell: Cell, half: bool = False, int8: bool = False) -> Kernel:
        """The kernel of a cell, in float32, bfloat16 (half) or with products of int8, compiled where no process of this machine
        has done so.

        Raises
        ------
        CompilerError
            No C compiler was found, or it failed.
        """
        source = c_source(cell, half, int8)
        found = _kernels.get(source)
        if found is None:
            with _lock:
                found = _kernels.get(source)
                if found is None:
                    found = _kernels[source] = cls(cell, source, half, int8)
        return found

    def _call_type(self) -> type[ctypes.Structure]:
        """`Call` of layer.c."""
        fields: list[tuple[str, Any]] = [(name, ctypes.c_int64) for name in _INTEGERS]
        for name in _STRIDED:
            fields.append((name, ctypes.c_void_p))
            fields += [(f"{name}_{along}", ctypes.c_int64) for along in ("step", "row")]
        fields += [(name, ctypes.c_void_p) for name in _ADDRESSES]
        states = ctypes.c_void_p * len(self.cell.states)
        weights = ctypes.c_void_p * self._weights
        fields += [("weights", weights), ("d_weights", weights)]
        fields += [(name, states) for name in ("initial", "final", "d_final", "d_initial")]
        return type("Call", (ctypes.Structure,), {"_fields_": fields})

    def _made(
        self,
        shape: Shape,
        threads: int = 1,
        arrays: Sequence[Strided | None] = (),
        lists: Sequence[Sequence[int] | None] = (),
        *,
        reverse: bool = False,
        pack: int = 0,
        **addresses: int,
    ) -> Any:
        """A call with arrays and lists, of those that `Call` has, the first ones; addresses by name."""
        strided = [value for one in arrays for value in one or NOWHERE]
        strided += NOWHERE * (len(_STRIDED) - len(arrays))
        places = [addresses.get(name, 0) for name in _ADDRESSES]
        given = [tuple(one) if one else () for one in lists[:2]]
        given += [tuple(one[n] for n in self._places) if one else () for one in lists[2:]]
        return self._call(*shape, threads, reverse, pack, *strided, *places, *given)

    def _find_threads(self, threads: int) -> None:
        if threads > 1 and not self._threads_found and not _forked:
            found = openmp()
            if found:
                self._library.use_openmp(*map(ctypes.c_void_p, found))
            self._threads_found = True

    def _sizes(self, shape: Shape, threads: int = 1) -> Sizes:
        found = (ctypes.c_int64 * len(Sizes._fields))()
        self._library.sizes(ctypes.byref(self._made(shape, threads)), found)
        return Sizes(*found)

    def pack(self, shape: Shape, weights: Sequence[int], packed: int, narrow: bool = False) -> None:
        """Put the weights in the order in which `forward` reads them, for calls without weights.

        weights, narrow: as of `forward`.
        """
        call = self._made(shape, lists=[weights], packed=packed, pack=1 + narrow)
        self._library.pack(ctypes.byref(call))

    def forward(
        self,
        shape: Shape,
        *,
        x: Strided,
        y: Strided,
        packed: int,
        scratch: int,
        weights: Sequence[int] | None = None,
        narrow: bool = False,
        initial: Sequence[int] | None = None,
        final: Sequence[int] | None = None,
        lengths: int = 0,
        resets: int = 0,
        reverse: bool = False,
        tape: int = 0,
        threads: int = 1,
        known: int = 0,
        digest: int = 0,
    ) -> bool:
        """Compute y [T, B, P] and the final states of x [T, B, K].

        Parameters
        ----------
        weights : addresses
            Those of one layer, as `Cell` lists them, which are put into `packed` first; None: `packed` has them already.
        narrow : bool
            Of a half kernel: all weights are given in bfloat16, not in float32.
        initial, final : addresses, one a state, the output first
            [B, P] of the output, [B, H] of others, [B, H, H / heads] of matrices. An initial state of 0 is what the cell starts with.
        lengths : address
            int64 [B], each from 0 to T. y is zero from a row's length on, and its final states are those of its last step.
        resets : address
            One byte each, [T, B]: step t of the row begins a new sequence. The states before it are what the cell starts with.
        reverse : bool
            Time runs backwards, from each row's own end; a sequence still begins where `resets` says, in the order of time.
        tape : address
            Where what `backward` reads is kept.
        threads : int
            How many at most. More than one run on the OpenMP library that the process has loaded, else as threads of their own.
        known, digest : addresses
            Weights that a call has packed, or 0, and the `DIGEST` bytes that it has put at `digest`. This call puts its own there.
            Where `packed` is 0 and the weights are not those in `known`, nothing is computed.

        Returns
        -------
        bool
            Whether the weights are those in `known`; nothing was packed then.
        """
        self._find_threads(threads)
        call = self._made(
            shape,
            threads,
            [x, y],
            [weights, None, initial, final],
            reverse=reverse,
            pack=0 if weights is None else 1 + narrow,
            packed=packed,
            scratch=scratch,
            lengths=lengths,
            resets=resets,
            tape=tape,
            known=known,
            digest=digest,
        )
        self._library.forward(ctypes.byref(call))
        return known != 0 and not call.pack

    def backward(
        self,
        shape: Shape,
        *,
        x: Strided,
        y: Strided,
        packed: int,
        weights: Sequence[int],
        tape: int,
        scratch: int,
        narrow: bool = False,
        d_y: Strided | None = None,
        d_final: Sequence[int] | None = None,
        d_x: Strided | None = None,
        d_initial: Sequence[int] | None = None,
        d_weights: Sequence[int] | None = None,
        initial: Sequence[int] | None = None,
        lengths: int = 0,
        resets: int = 0,
        reverse: bool = False,
        threads: int = 1,
    ) -> None:
        """Compute gradients from those of y and of the final states; they are written, not added.

        x, y, weights, narrow, initial, lengths, resets, reverse, tape and threads are those of `forward`; packed is of
        `packed_backward` floats. Gradients of padding are zero.
        """
        self._find_threads(threads)
        call = self._made(
            shape,
            threads,
            [x, y, d_y, d_x],
            [weights, d_weights, initial, None, d_final, d_initial],
            reverse=reverse,
            pack=1 + narrow,
            packed=packed,
            scratch=scratch,
            lengths=lengths,
            resets=resets,
            tape=tape,
        )
        self._library.backward(ctypes.byref(call))
