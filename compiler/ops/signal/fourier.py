"""Discrete Fourier transforms as matrix products, and the frames of a signal.

The transform's matrix is computed at compile time. A matrix product needs more arithmetic than a
fast Fourier transform: n * n instead of n * log(n) operations. At the lengths in speech models (up
to about 1,000), the matrix product is efficient on matrix units, and fuses with the preceding
window.
"""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_lowercase
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import Dim, TensorType
from compiler.ops.data_movement.reshape import reshape, unsqueeze
from compiler.ops.elementwise.arithmetic import mul
from compiler.ops.elementwise.cast import cast
from compiler.ops.linear_algebra.einsum import einsum
from compiler.ops.type_rules.dims import copied, single
from compiler.ops.type_rules.requirements import normal_axis, wide

LARGEST_MATRIX_BYTES = 1 << 25
"""The maximum size of a matrix in bytes; onnx.reference computes transforms with larger
matrices."""


def turns(n_in: int, n_out: int, length: int, parts: tuple[int, int], *, inverse: bool) -> Array:
    """Return the matrix of a transform, [n_in, 1 or 2 parts in, n_out, 1 or 2 parts out].

    The parts of a number are its real and its imaginary part.
    Source: the definition; angles are first reduced modulo one turn, in integers.
    """
    n, k = np.arange(n_in)[:, None], np.arange(n_out)
    angle = 2 * np.pi * ((n * k) % length) / length
    real, imaginary = np.cos(angle), np.sin(angle) * (1 if inverse else -1)
    whole = np.array([[real, imaginary], [-imaginary, real]])
    scale = 1 / length if inverse else 1.0
    return scale * whole.transpose(2, 0, 3, 1)[:, : parts[0], :, : parts[1]]


def real_turns(n_in: int, length: int) -> Array:
    """Return the matrix that maps half of a real signal's spectrum to the signal."""
    made = turns(n_in, length, length, (2, 1), inverse=True)
    twice = np.full(n_in, 2.0)
    twice[0] = 1
    if length % 2 == 0 and n_in == length // 2 + 1:
        twice[-1] = 1
    return made * twice[:, None, None, None]


def transformed(
    x: Operand, t: TensorType, axis: int, length: int, *, inverse: bool, onesided: bool
) -> Operand | None:
    """Transform x along an axis; the last axis of x has the real and imaginary parts.

    Return None if the matrix would be too large.
    """
    n, parts = t.dims[axis], t.dims[-1]
    if not isinstance(n, int) or parts not in (1, 2) or length < 1:
        return None
    n_read = min(n, length // 2 + 1 if inverse and onesided else length)
    n_out = length // 2 + 1 if onesided and not inverse else length
    dtype = wide(t.dtype)
    if n_read * n_out * 4 * dtype.nbytes > LARGEST_MATRIX_BYTES:
        return None
    if inverse and onesided:
        if parts != 2:
            return None
        matrix = real_turns(n_read, length)
    else:
        matrix = turns(n_read, n_out, length, (int(parts), 2), inverse=inverse)
    # Elements beyond the length of the transform are not read: their rows are zeros.
    unread = np.zeros((n - n_read, *matrix.shape[1:]))
    matrix = np.concatenate([matrix, unread]).astype(dtype.numpy)
    outer = ascii_lowercase[: t.rank - 1]
    inside = outer[axis]
    equation = f"{outer}x,{inside}xyz->{outer.replace(inside, 'y')}z"
    made = einsum(cast(x, to=dtype), matrix, equation=equation)
    return made if dtype is t.dtype else cast(made, to=t.dtype)


def _single(t: Tensor | None) -> int | None:
    """Return the number in a parameter whose elements are known."""
    return None if t is None else single(t, "a length, step or axis of a transform")


@einsum.onnx("DFT")
def _(n: OnnxCall) -> Operand | None:
    x, given, where = n.operand(0), n.operand(1), n.operand(2)
    assert x is not None
    if x.type.shape is None or (given and given.value is None) or (where and where.value is None):
        return None
    axis = n.attr("axis", 1) if n.opset < 20 else -2 if where is None else _single(where)
    axis = normal_axis(int(axis or 0), x.rank)
    inverse, onesided = bool(n.attr("inverse", 0)), bool(n.attr("onesided", 0))
    if inverse and not onesided:
        # The test cases of onnx expect the rounding errors of numpy's transform where an
        # exact sum is 0; see docs/accuracy.md.
        return None
    length = _single(given)
    size = x.shape[axis]
    if length is None:
        if not isinstance(size, int):
            return None
        length = 2 * (size - 1) if inverse and onesided else size
    return transformed(x, x.type, axis, length, inverse=inverse, onesided=onesided)


@op(kind="movement")
def frames(x: Tensor, *, step: int, length: int) -> TensorType:
    """Divide a signal into frames of equal length that begin every `step` samples and may overlap.

    Shapes: x [N, L, C], the result [N, (L - length) // step + 1, length, C].
    Errors: E-OP-SHAPE if the signal is shorter than a frame, E-OP-ATTRIBUTE for a step below 1.
    Source: the first step of ONNX STFT-17.
    """
    require(x.rank == 3, "E-OP-SHAPE", f"frames takes signals of rank 3, got {x.type}")
    batch, size, parts = x.shape
    return TensorType(x.dtype, (batch, _n_frames(size, step, length), length, parts))


def _n_frames(size: Dim, step: int, length: int) -> Dim:
    """Return the number of frames in a signal of `size` samples, checked as in `frames`."""
    fits = step >= 1 and length >= 1
    message = f"frames needs a length and a step of at least 1, got {length} and {step}"
    require(fits, "E-OP-ATTRIBUTE", message)
    long_enough = not isinstance(size, int) or size >= length
    message = f"a signal of {size} samples is shorter than a frame of {length}"
    require(long_enough, "E-OP-SHAPE", message)
    return affine.floordiv(size - length, step) + 1


@frames.reference
def _(x: Array, *, step: int, length: int) -> Array:
    view = np.lib.stride_tricks.sliding_window_view(x, length, axis=1)[:, ::step]
    return np.ascontiguousarray(np.moveaxis(view, -1, 2))


@frames.cost
def _(x: TensorType, *, out: TensorType, step: int, length: int) -> Cost:
    return copied(out)


@frames.lower
def _(k: Lowering, x: Handle, out: Handle, *, step: int, length: int) -> None:
    b, f, i, c = k.axes(out.shape, "bfic")
    k.assign(out[b, f, i, c], x[b, f * step + i, c])


@frames.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,11,1]"], {"step": 3, "length": 4}
    yield ["f64[1,7,2]"], {"step": 2, "length": 7}
    yield ["i32[3,6,1]"], {"step": 1, "length": 1}
    yield ["f32[0,6,1]"], {"step": 2, "length": 3}


@frames.onnx("STFT")
def _(n: OnnxCall) -> Operand | None:
    """Import STFT as the product of frames and window, followed by a transform of each frame.

    Real signals may lack the last axis of size 1: TorchScript exports real signals as [batch,
    length].
    """
    x, window = n.operand(0), n.operand(2)
    step, length = _single(n.operand(1)), _single(n.operand(3))
    assert x is not None
    if x.type.shape is None or step is None or (n.operand(3) is not None and length is None):
        return None
    if x.rank not in (2, 3):
        return None
    batch, n_samples, parts = (*x.shape, 1)[:3]
    if window is None:
        size = n_samples if length is None else length
    else:
        size = window.shape[0] if window.type.shape else None
    if not isinstance(size, int):
        return None
    signal = x if x.rank == 3 else unsqueeze(x, axes=(2,))
    cut: Operand = frames(signal, step=step, length=size)
    places = _n_frames(n_samples, step, size)
    if window is not None:
        cut = mul(cut, reshape(window, np.array([size, 1], np.int64)))
    t = TensorType(x.dtype, (batch, places, size, parts))
    onesided = bool(n.attr("onesided", 1))
    return transformed(cut, t, 2, length or size, inverse=False, onesided=onesided)


@frames.export
def _(x: Tensor, *, step: int, length: int) -> Operand:
    """Export as a gather of the elements of all frames."""
    inside = np.arange(length)
    size = x.shape[1]
    if isinstance(size, int):
        starts = np.arange(0, size - length + 1, step)
        return standard("Gather", x, starts[:, None] + inside, axis=1)
    last = standard("Sub", standard("Shape", x, start=1, end=2), np.array([length - 1]))
    starts = standard("Range", np.array(0), standard("Squeeze", last), np.array(step))
    places = standard("Add", standard("Unsqueeze", starts, np.array([1])), inside)
    return standard("Gather", x, places, axis=1)
