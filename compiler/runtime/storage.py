"""Aligned memory, and conversion of tensors to and from layouts that are not row-major."""

from __future__ import annotations

import numpy as np

from compiler.errors import CompileError
from compiler.ir.constant import Array
from compiler.ir.types import TensorType
from compiler.runtime.recycling import LEAST_BYTES, Recycled
from compiler.targets.memory import machine_bytes

PAGE_BYTES = 2 << 20
"""The alignment in bytes of large memory blocks; it allows the system to use huge pages."""

LINE_BYTES = 64

_RECYCLED = Recycled()


def aligned_bytes(nbytes: int) -> Array:
    """Allocate uninitialised bytes, aligned to a cache line or, if large, to a huge page.

    Errors: E-RUN-MEMORY if the memory is not available.
    """
    alignment = PAGE_BYTES if nbytes >= PAGE_BYTES else LINE_BYTES
    try:
        if nbytes > machine_bytes():
            raise MemoryError  # with overcommit, the system would kill the process at the first use
        if nbytes < LEAST_BYTES:
            raw = np.empty(nbytes + alignment, np.uint8)
        else:
            raw = _RECYCLED.bytes(nbytes + alignment, lambda n: np.empty(n, np.uint8))
    except (MemoryError, ValueError, OverflowError) as e:
        raise CompileError(
            "E-RUN-MEMORY",
            f"the program needs {nbytes:,} bytes at once; that much memory is not available",
        ) from e
    start = -raw.ctypes.data % alignment
    return raw[start : start + nbytes]


def aligned_array(t: TensorType) -> Array:
    """Allocate an uninitialised array of a static type in plain layout, aligned to a cache line."""
    shape = t.static_shape
    return aligned_bytes(t.n_elements * t.dtype.nbytes).view(t.dtype.numpy).reshape(shape)


def physical_view(memory: Array, offset: int, t: TensorType) -> Array:
    """Return the bytes of a tensor in memory as an array of its physical shape."""
    flat = memory[offset : offset + t.nbytes].view(t.dtype.numpy)
    return flat.reshape(t.layout.physical_shape(t.static_shape))


def to_logical(physical: Array, t: TensorType) -> Array:
    """Return the elements in logical order: a view if the layout is plain, else a new array."""
    if t.layout.is_plain:
        return physical
    inner = physical[_inside(t)]
    n, c, *spatial = t.static_shape
    if t.layout.block == 1:
        return np.ascontiguousarray(inner)
    # [N, C/b, spatial, b] -> [N, C/b, b, spatial] -> [N, C, spatial]
    moved = np.moveaxis(inner, -1, 2).reshape(n, -1, *spatial)
    return np.ascontiguousarray(moved[:, :c])


def store_logical(array: Array, physical: Array, t: TensorType) -> None:
    """Write a tensor's elements into memory of its layout, including padding and halo."""
    if t.layout.is_plain:
        np.copyto(physical, array)
        return
    physical[...] = t.layout.around
    inner = physical[_inside(t)]
    n, c, *spatial = t.static_shape
    block = t.layout.block
    if block == 1:
        inner[...] = array
        return
    whole, rest = divmod(c, block)
    blocks = array[:, : whole * block].reshape(n, whole, block, *spatial)
    inner[:, :whole] = np.moveaxis(blocks, 2, -1)
    if rest:
        inner[:, whole, ..., :rest] = np.moveaxis(array[:, whole * block :], 1, -1)


def _inside(t: TensorType) -> tuple[slice, ...]:
    """Return the slices that select the physical array without its halo."""
    rank = len(t.static_shape)
    sizes = t.static_shape[2:]
    halo = t.layout.halo_of(rank)
    return (
        slice(None),
        slice(None),
        *(slice(h, h + s) for h, s in zip(halo, sizes, strict=True)),
    )
