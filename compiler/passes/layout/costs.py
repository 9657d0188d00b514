"""Costs of layouts: times of kernels and copies by the roofline model, in whole picoseconds.

Only differences between layouts matter. The cost of a kernel therefore depends on two factors only:
the bytes moved, including the padding of blocks, and a convolution's share of peak throughput.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from compiler.ir import affine
from compiler.ir.graph import Node
from compiler.ir.operator import Cost
from compiler.ir.types import TensorType, Type
from compiler.passes.engine.cost import CORE, node_cost

ALONG_PIXELS, UNALIGNED, STRIDED = 0.9, 0.65, 0.5
"""Shares of peak throughput of a convolution whose lanes run along pixels.

`ALONG_PIXELS` accounts for scalar loads of weights (measured: 0.84 to 0.98). `UNALIGNED` is for
windows: their vectors are unaligned, and rows end within vectors (measured: 0.55 to 0.75).
`STRIDED` is for strided windows, which load every other pixel (measured: 0.4 to 0.6).
"""

STRIDED_ALONE, SHORT_ALONE = 0.15, 0.2
"""Shares of peak for depthwise convolutions with strides, and with rows shorter than a vector.

Vectors are assembled from single elements, and each vector is used in few products (measured
shares: 0.1 to 0.15, and 0.15 to 0.3).
"""

COPIES = 0.3
"""Time of a copy between layouts, as a share of the roofline time for its bytes.

The measured share is 0.2 to 0.35: a copy transposes square blocks in registers, and much of its
data stays in caches.
"""

STEPS, WITHOUT_STEPS = 4.0, 0.2
"""Speed of an 8-bit convolution relative to f32, with and without dot-product instructions.

Dot-product instructions require adjacent channels. The measured speed is 3 to 4 with these
instructions, and 0.1 to 0.3 without.
"""

BORDER_TESTS = 1.0
"""Cost of border tests of a convolution without a halo, as a share of its time.

The measured share is 0 to 1.4, and largest with strides. For depthwise convolutions, the share is
0.1 with AVX-512, which has masked loads, and 1.5 to 7 with AVX2.
"""

PICOSECONDS = 1e12


def picoseconds(cost: Cost, n_kernels: int = 1) -> int:
    """Return the estimated time of a cost in whole picoseconds."""
    return round(CORE.seconds(cost, n_kernels) * PICOSECONDS)


def copy_cost(bytes_read: int, bytes_written: int) -> int:
    """Return the cost of a copy from one layout to another, in picoseconds."""
    return picoseconds(Cost(0, round(COPIES * (bytes_read + bytes_written))))


def plain_bytes(t: TensorType) -> int:
    """Return the size in bytes of a tensor in plain order, with assumed numbers for open sizes."""
    return math.prod(map(affine.assumed_size, t.dims)) * t.dtype.nbytes


def laid_bytes(t: TensorType, n_bytes: int, block: int) -> int:
    """Return the size of a tensor in blocks of channels, given its `n_bytes` in plain order."""
    c = t.dims[1]
    if block == 1 or not isinstance(c, int) or not c % block:
        return n_bytes
    return n_bytes // c * (-(-c // block) * block)


def border_tests(flops: int) -> int:
    """Return the cost of a convolution's border tests, in picoseconds."""
    return round(BORDER_TESTS * picoseconds(Cost(flops), 0))


def filled(conv: Node, out: TensorType, lanes: int, block: int, types: Mapping[str, Type]) -> float:
    """Return the share of peak vector throughput that a convolution reaches."""
    _, n_channels, *pixels = map(affine.assumed_size, out.dims)
    if conv.op == "conv_codes":
        return _share(n_channels, lanes) * STEPS if block > 1 else WITHOUT_STEPS
    if block > 1:
        return _share(n_channels, lanes)
    weights = types[conv.inputs[1]]
    kernel = weights.dims[2:] if isinstance(weights, TensorType) and weights.is_ranked else ()
    alone = int(conv.attrs["groups"]) == n_channels > 1
    if any(s != 1 for s in conv.attrs["strides"]):
        return _share(pixels[-1], lanes) * (STRIDED_ALONE if alone else STRIDED)
    if any(k != 1 for k in kernel):
        if alone and pixels[-1] < lanes:
            return SHORT_ALONE
        return _share(pixels[-1], lanes) * UNALIGNED
    return _share(math.prod(pixels), lanes) * ALONG_PIXELS


def _share(n: int, lanes: int) -> float:
    """Return the average share of lanes that vectors of n numbers fill."""
    return n / (-(-n // lanes) * lanes) if n else 1.0


def assumed_flops(node: Node, type_of: Callable[[str], Type]) -> int:
    """Return the number of operations of a node, with assumed numbers for open sizes."""

    def assumed(t: Type) -> Type:
        return t.logical.assumed if isinstance(t, TensorType) and t.is_ranked else t

    closed = replace(node, types=tuple(map(assumed, node.types)))
    cost = node_cost(closed, lambda name: assumed(type_of(name)))
    return cost.flops if cost is not None else 0
