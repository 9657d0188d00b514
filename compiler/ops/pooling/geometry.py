"""The geometry of pooling windows: their attributes and, for known sizes, positions and taps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from compiler.dataclass import dataclass
from compiler.ir.affine import Expr
from compiler.ir.operator import Array
from compiler.ir.types import Dim
from compiler.ops.convolution.window import Window, check_window, output_dims, resolve, windows
from compiler.ops.pooling.clipped import clipped


@dataclass(frozen=True, slots=True)
class Pooling:
    """The attributes of pooling windows, before sizes are known."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    dilations: tuple[int, ...]
    ceil_mode: bool = False
    auto_pad: str = "notset"

    def check(self, op_name: str, n_spatial: int) -> None:
        """Check the attributes. Errors: as `check_window`."""
        check_window(op_name, n_spatial, *self._windows)

    def places(self, dims: Sequence[Dim]) -> tuple[Dim, ...]:
        """Return the number of window positions along each spatial axis of the image."""
        return output_dims(dims, *self._windows, ceil_mode=self.ceil_mode)

    def window(self, dims: Sequence[int]) -> Window:
        """Return the window for an image of these sizes, with `auto_pad` converted to pads."""
        return resolve(dims, *self._windows)

    def clipped(self, dims: Sequence[Expr], places: Sequence[Expr]) -> Window:
        """Return the window without the taps that are outside the image at every position."""
        return clipped(dims, places, self.window(dims))  # pyright: ignore[reportArgumentType]

    def taken(self, x: Array, fill: Any) -> Array:
        """Return the elements of each clipped window of x; the taps are the last axes."""
        dims = x.shape[2:]
        places = [int(n) for n in self.places(dims)]
        return windows(x, self.clipped(dims, places), places, fill)

    @property
    def tap_axes(self) -> tuple[int, ...]:
        """Return the axes of `taken`'s result that are taps."""
        return tuple(range(-len(self.kernel), 0))

    @property
    def _windows(self) -> tuple[Any, ...]:
        return self.kernel, self.strides, self.pads, self.dilations, self.auto_pad


def pooling_of(attrs: Mapping[str, Any]) -> Pooling:
    """Return the attributes of a pooling node that describe its window."""
    return Pooling(**{f.name: attrs[f.name] for f in fields(Pooling) if f.name in attrs})
