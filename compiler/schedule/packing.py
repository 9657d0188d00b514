"""Constant operands repacked at compile time into the very order in which the loops read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.ir.constant import Array


@dataclass(frozen=True, slots=True)
class Packing:
    """Pad each axis with zeros, split it into factors, and put all factors in a new order.

    Shapes: `padded` has the rank of the constant; `split` lists the factors of all axes in turn;
    `order` permutes them. The result's shape is `shape`.
    """

    padded: tuple[int, ...]
    split: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the packed constant."""
        return tuple(self.split[i] for i in self.order)

    def apply(self, array: Array) -> Array:
        """The packed elements, contiguous; a splat that needs no padding stays a view of one."""
        if array.shape != self.padded:
            grown: Array = np.zeros(self.padded, array.dtype)
            grown[tuple(slice(0, n) for n in array.shape)] = array
            array = grown
        result: np.ndarray[Any, Any] = array.reshape(self.split).transpose(self.order)
        return np.ascontiguousarray(result).reshape(self.shape)

    def __str__(self) -> str:
        factors = "x".join(map(str, self.split))
        return f"pad to {list(self.padded)}, split into {factors}, order {list(self.order)}"
