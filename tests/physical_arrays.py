"""Conversions between arrays and their form in memory, with blocks and a halo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from compiler.ir.types import DType, TensorType
from compiler.schedule.assemble import Scheduled

Array = np.ndarray[Any, np.dtype[Any]]

PADDING = 77
"""The contents of padding in blocks of integers, which must not affect results."""


def laid_out(array: Array, t: TensorType, padding: float | None = None) -> Array:
    """Return the array in its memory layout, with zeros in its halo.

    Padding in a block has the given contents, by default NaN or PADDING, or zero if the layout has
    a halo.
    """
    if padding is None:
        padding = 0 if t.layout.halo else nothing(t.dtype)
    memory = np.full(t.layout.physical_shape(t.static_shape), padding, array.dtype)
    if t.layout.halo:
        inner = tuple(slice(h, -h or None) for h in t.layout.halo_of(t.rank))
        around = np.ones(memory.shape, bool)
        around[(slice(None), slice(None), *inner)] = False
        memory[around] = 0
    for index in np.ndindex(*t.static_shape):
        memory[tuple(int(i) for i in t.layout.physical_index(index))] = array[index]
    return memory


def nothing(dtype: DType) -> float:
    """Return the contents of memory before the first write."""
    return np.nan if dtype.is_float else PADDING


def memory_for(
    made: Scheduled,
    tensors: Mapping[str, TensorType],
    arrays: Mapping[str, Array],
    padding: float | None = None,
) -> dict[str, Array]:
    """Return the arguments of a kernel: operands packed or laid out, other memory uninitialised."""
    memory: dict[str, Array] = {}
    for b in made.kernel.params:
        if b.name in made.packings:
            memory[b.name] = made.packings[b.name].apply(arrays[b.name])
        elif b.name in arrays:
            memory[b.name] = laid_out(arrays[b.name], tensors[b.name], padding)
        else:
            rest = nothing(b.dtype) if padding is None else padding
            memory[b.name] = np.full(b.shape, rest, b.dtype.numpy)
    return memory


def picked_up(memory: Array, t: TensorType) -> Array:
    """Return the elements in logical order, from memory in the layout of the type."""
    array = np.empty(t.static_shape, memory.dtype)
    for index in np.ndindex(*t.static_shape):
        array[index] = memory[tuple(int(i) for i in t.layout.physical_index(index))]
    return array
