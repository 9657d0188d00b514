"""Winograd's minimal filtering algorithms: tiles of outputs that need fewer multiplications.

    transformed image   v = B d B'   of each tile d of the image, tiles overlap
    transformed weights u = G w G'   at compile time
    products            p[o] = sum over channels of u[o,i] * v[i], element by element
    outputs             y = A p A'

A tile of m x m outputs of a 3x3 window takes (m+2)^2 products instead of 9 m^2: 2.25 times fewer
for m = 2, 4 times for m = 4. The matrices come from evaluating polynomials at the points 0, 1, -1
(and 2, -2) and infinity. Larger points cost accuracy: m = 2 is as accurate as the direct sum, m = 4
loses a decimal digit. Source: Winograd 1980; Lavin and Gray 2016 (arXiv:1509.09308).
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Number, Scalar
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.types import DType
from compiler.ops.convolution.window import Window

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Tiling:
    """A Winograd algorithm for tiles of `outputs` x `outputs` elements of the result.

    `error` bounds the error that the algorithm adds to that of the direct sum, relative to the
    scale of results. The bound was measured on random images and weights, and includes a margin
    (docs/precision.md).
    """

    outputs: int
    image: Matrix
    weights: Matrix
    result: Matrix
    error: float

    @property
    def inputs(self) -> int:
        """The side length of a tile of the image, and of a tile of products."""
        return len(self.image)


_F2 = Tiling(
    2,
    ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1)),
    ((1, 0, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0, 0, 1)),
    ((1, 1, 1, 0), (0, 1, -1, -1)),
    2e-6,
)

_F4 = Tiling(
    4,
    (
        (4, 0, -5, 0, 1, 0),
        (0, -4, -4, 1, 1, 0),
        (0, 4, -4, -1, 1, 0),
        (0, -2, -1, 2, 1, 0),
        (0, 2, -1, -2, 1, 0),
        (0, 4, 0, -5, 0, 1),
    ),
    (
        (1 / 4, 0, 0),
        (-1 / 6, -1 / 6, -1 / 6),
        (-1 / 6, 1 / 6, -1 / 6),
        (1 / 24, 1 / 12, 1 / 6),
        (1 / 24, -1 / 12, 1 / 6),
        (0, 0, 1),
    ),
    ((1, 1, 1, 1, 1, 0), (0, 1, -1, 2, -2, 0), (0, 1, 1, 4, 4, 0), (0, 1, -1, 8, -8, 1)),
    2e-5,
)

ALGORITHMS: dict[str, Tiling | None] = {"direct": None, "winograd2": _F2, "winograd4": _F4}
"""The values of a convolution's attribute `algorithm`, which does not affect the semantics."""


def unsuitable(dtype: DType, sizes: Sequence[Expr], window: Window, groups: int) -> str:
    """Return the reason why a convolution cannot be computed in tiles, or "".

    `sizes` are the extents of all loops: over the axes of the result, and over input channels.
    """
    if dtype is not DType.f32:
        return f"the elements are {dtype}: only f32 is computed in tiles"
    if groups != 1:
        return f"the convolution has {groups} groups: few channels share a transformed tile"
    if len(window.kernel) != 2 or window.kernel != (3, 3):
        return f"the window is {'x'.join(map(str, window.kernel))}: tiles require 3x3"
    if window.strides != (1, 1):
        return (
            f"the strides are {'x'.join(map(str, window.strides))}: tiles need overlapping windows"
        )
    if window.dilations != (1, 1):
        return f"the dilations are {'x'.join(map(str, window.dilations))}: tiles require 1"
    if not all(isinstance(n, int) and n > 0 for n in sizes):
        return "the sizes are known only when the program runs"
    return ""


def tiled_convolution(
    k: Lowering, x: Handle, w: Handle, b: Handle | None, out: Handle, window: Window, tiling: Tiling
) -> None:
    """Lower a convolution in tiles to stages for weights, image, products and outputs."""
    n_images, n_outputs, *sizes = out.shape
    m, side, taps = tiling.outputs, tiling.inputs, window.kernel[0]
    n_channels = x.shape[1]
    rows, columns = (-(-int(n) // m) for n in sizes)

    u = k.temporary((side, side, n_outputs, n_channels), out.dtype, "u")
    s, t = k.axis(side, "s"), k.axis(side, "t")
    o, i = k.axis(n_outputs, "o"), k.axis(n_channels, "i")
    ky, kx = k.axis(taps, "ky"), k.axis(taps, "kx")
    factors = (
        _entry(k, tiling.weights, s, ky, out.dtype),
        _entry(k, tiling.weights, t, kx, out.dtype),
    )
    weight = factors[0] * factors[1] * w[o, i, ky, kx]
    k.assign(u[s, t, o, i], k.sum(weight, over=[ky, kx]))

    v = k.temporary((side, side, n_channels, n_images, rows, columns), out.dtype, "v")
    s, t, i = k.axis(side, "s"), k.axis(side, "t"), k.axis(n_channels, "i")
    n, r, c = k.axis(n_images, "n"), k.axis(rows, "r"), k.axis(columns, "c")
    dy, dx = k.axis(side, "dy"), k.axis(side, "dx")
    factors = _entry(k, tiling.image, s, dy, out.dtype), _entry(k, tiling.image, t, dx, out.dtype)
    above, left = window.pads_begin
    element = x.padded((n, i, r * m + dy - above, c * m + dx - left))
    k.assign(v[s, t, i, n, r, c], k.sum(factors[0] * factors[1] * element, over=[dy, dx]))

    p = k.temporary((side, side, n_outputs, n_images, rows, columns), out.dtype, "p")
    s, t, o = k.axis(side, "s"), k.axis(side, "t"), k.axis(n_outputs, "o")
    n, r, c = k.axis(n_images, "n"), k.axis(rows, "r"), k.axis(columns, "c")
    i = k.axis(n_channels, "i")
    k.assign(p[s, t, o, n, r, c], k.sum(v[s, t, i, n, r, c] * u[s, t, o, i], over=[i]))

    n, o = k.axis(n_images, "n"), k.axis(n_outputs, "o")
    y, z = k.axis(sizes[0], "y"), k.axis(sizes[1], "x")
    s, t = k.axis(side, "s"), k.axis(side, "t")
    product = p[s, t, o, n, affine.floordiv(y, m), affine.floordiv(z, m)]
    factors = (
        _entry(k, tiling.result, affine.mod(y, m), s, out.dtype),
        _entry(k, tiling.result, affine.mod(z, m), t, out.dtype),
    )
    total: Scalar = k.sum(factors[0] * factors[1] * product, over=[s, t])
    if b is not None:
        total = total + b[o]
    k.assign(out[n, o, y, z], total)


def _entry(k: Lowering, matrix: Matrix, row: Expr, column: Expr, dtype: DType) -> Scalar:
    """Read the entry of a constant matrix at two run-time indices, as a selection among numbers."""
    rows = [_choice(k, [Number(float(v), dtype) for v in r], column) for r in matrix]
    return _choice(k, rows, row)


def _choice(k: Lowering, values: Sequence[Scalar], index: Expr) -> Scalar:
    """Emit the selection of a value by an index."""
    *others, chosen = values
    for place in reversed(range(len(others))):
        chosen = k.inside([(index, place + 1)], others[place], chosen)
    return chosen
