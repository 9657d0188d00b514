"""Arrays as kernels see them in memory, in blocks and with a halo, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir.types import TensorType

Array = np.ndarray[Any, np.dtype[Any]]

PADDING = 77
"""What whole numbers hold where a block is padded: nothing may come to depend on it."""


def laid_out(array: Array, t: TensorType) -> Array:
    """The array as it lies in memory; padding in a block is NaN or PADDING, what is halo zero."""
    shape = t.layout.physical_shape(t.static_shape)
    padding = np.nan if t.dtype.is_float else PADDING
    memory = np.full(shape, 0 if t.layout.halo else padding, array.dtype)
    for index in np.ndindex(*t.static_shape):
        memory[tuple(int(i) for i in t.layout.physical_index(index))] = array[index]
    return memory


def picked_up(memory: Array, t: TensorType) -> Array:
    """The elements in logical order, out of memory of the type's layout."""
    array = np.empty(t.static_shape, memory.dtype)
    for index in np.ndindex(*t.static_shape):
        array[index] = memory[tuple(int(i) for i in t.layout.physical_index(index))]
    return array
