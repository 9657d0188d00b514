"""What layouts cost: seconds of kernels and copies by the roofline model, as whole picoseconds.

Only differences matter, so a kernel counts what a layout changes: the bytes that it moves, padding
of blocks included, and how much of its vectors a convolution fills.
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
"""Shares of its speed that a convolution keeps where lanes run over pixels: at all (weights are
loaded one by one), with a window (vectors begin anywhere and rows end within vectors), and with
strides, which load every other pixel (measured: 0.84 to 0.98, 0.55 to 0.75, 0.4 to 0.6)."""

STRIDED_ALONE, SHORT_ALONE = 0.15, 0.2
"""The same for channels that are convolved alone, with strides, and where a row is shorter than a
vector: few products for each vector that is put together (measured: 0.1 to 0.15, 0.15 to 0.3)."""

COPIES = 0.3
"""Copies between layouts turn squares in registers: what they take of the time that the roofline
says for as many bytes, since much of it stays in caches (measured: 0.2 to 0.35)."""

STEPS, WITHOUT_STEPS = 4.0, 0.2
"""How much faster than floats a convolution of bytes is where neighbouring channels are summed at
once, and how much slower where they lie apart (measured: 3 to 4, 0.1 to 0.3)."""

BORDER_TESTS = 1.0
"""The cost of border tests in a convolution of an image without zeros around it, as a share of the
arithmetic's time (measured: 0 to 1.4, most with strides; for depthwise convolutions 0.1 with
AVX-512, whose loads take masks, and 1.5 to 7 with AVX2)."""

PICOSECONDS = 1e12


def picoseconds(cost: Cost, n_kernels: int = 1) -> int:
    """An estimate of the time that work takes, as a whole number."""
    return round(CORE.seconds(cost, n_kernels) * PICOSECONDS)


def copy_cost(bytes_read: int, bytes_written: int) -> int:
    """What a copy from one layout to another costs: picoseconds."""
    return picoseconds(Cost(0, round(COPIES * (bytes_read + bytes_written))))


def plain_bytes(t: TensorType) -> int:
    """Bytes of a tensor in plain order, with numbers for open sizes."""
    return math.prod(map(affine.assumed_size, t.dims)) * t.dtype.nbytes


def laid_bytes(t: TensorType, n_bytes: int, block: int) -> int:
    """Bytes of a tensor in blocks of channels, of which it has `n_bytes` in plain order."""
    c = t.dims[1]
    if block == 1 or not isinstance(c, int) or not c % block:
        return n_bytes
    return n_bytes // c * (-(-c // block) * block)


def border_tests(flops: int) -> int:
    """What testing for borders costs a convolution: picoseconds."""
    return round(BORDER_TESTS * picoseconds(Cost(flops), 0))


def filled(conv: Node, out: TensorType, lanes: int, block: int, types: Mapping[str, Type]) -> float:
    """The share of a vector unit's speed that a convolution reaches."""
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
    """How full vectors are on average that hold n numbers."""
    return n / (-(-n // lanes) * lanes) if n else 1.0


def assumed_flops(node: Node, type_of: Callable[[str], Type]) -> int:
    """Operations of a node, with numbers for open sizes."""

    def assumed(t: Type) -> Type:
        return t.logical.assumed if isinstance(t, TensorType) and t.is_ranked else t

    closed = replace(node, types=tuple(map(assumed, node.types)))
    cost = node_cost(closed, lambda name: assumed(type_of(name)))
    return cost.flops if cost is not None else 0
