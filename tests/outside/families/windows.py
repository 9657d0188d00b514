"""Convolutions and pooling over one to three axes, with unusual parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.outside.defined import windows_fit
from tests.outside.draft import Draft, Dropped
from tests.outside.family import family
from tests.outside.values import some_array


@dataclass(frozen=True)
class Window:
    """The attributes of a window, by axis."""

    kernel: list[int]
    attrs: dict[str, Any]

    def require_fit(self, sizes: Sequence[int]) -> None:
        """Raise Dropped for a window larger than the padded image."""
        if not windows_fit(self.kernel, sizes, self.attrs):
            raise Dropped


def window(d: Draft, n: int, dilates: bool = True, pools: bool = False) -> Window:
    """Return kernels, strides, dilations and pads of n axes, or auto_pad."""
    kernel = [d.chance.choice((1, 2, 3, 3, 5)) for _ in range(n)]
    attrs: dict[str, Any] = {}
    if d.maybe():
        attrs["strides"] = [d.chance.choice((1, 1, 2, 3)) for _ in range(n)]
    if dilates and d.maybe(0.3):
        attrs["dilations"] = [d.chance.choice((1, 2, 3)) for _ in range(n)]
    way = d.chance.random()
    if way < 0.45:
        most = [k - 1 if pools else 2 for k in kernel]
        attrs["pads"] = [d.chance.randint(0, min(2, m)) for m in (*most, *most)]
    elif way < 0.7:
        attrs["auto_pad"] = d.chance.choice(("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"))
    if attrs.get("auto_pad", "").startswith("SAME"):
        # Strides larger than the window would require negative pads, which runtimes interpret
        # differently.
        strides = attrs.get("strides", [1] * n)
        attrs["strides"] = [min(s, k) for s, k in zip(strides, kernel, strict=True)]
        if pools:  # ONNX Runtime ignores dilations in the pads
            attrs.pop("dilations", None)
    return Window(kernel, attrs)


def image_sizes(d: Draft, n: int) -> list[int]:
    return [d.chance.choice((1, 3, 5, 7, 8, 11, 17) if n < 3 else (1, 3, 4, 7)) for _ in range(n)]


def image(d: Draft, labels: tuple[str, ...], n: int) -> str:
    """Return an earlier or new value of n axes in addition to batch and channels."""
    if x := d.found(lambda v: v.ndim == n + 2 and v.size > 0, labels):
        return x
    shape = (d.chance.choice((1, 2)), d.chance.choice((1, 2, 3, 4, 6, 8, 17)), *image_sizes(d, n))
    return d.new(d.some_label(labels), shape)


def n_axes(d: Draft) -> int:
    return d.chance.choice((1, 2, 2, 2, 3))


@family("Conv", weight=3)
def _(d: Draft, op: str) -> None:
    n = n_axes(d)
    x = image(d, ("f32", "f32", "f64", "f16"), n)
    label, c = d.label(x), d.shape(x)[1]
    g = d.chance.choice([k for k in range(1, c + 1) if c % k == 0]) if d.maybe(0.4) else 1
    out, w = g * d.chance.choice((1, 1, 2, 3)), window(d, n)
    operands = [x, d.like(label, (out, c // g, *w.kernel))]
    operands += [d.like(label, (out,))] if d.maybe() else []
    shape = w.kernel if d.maybe() else None
    d.one(op, operands, group=g if g > 1 else None, kernel_shape=shape, **w.attrs)


@family("ConvTranspose", weight=1.5)
def _(d: Draft, op: str) -> None:
    n = n_axes(d)
    x = image(d, ("f32", "f64"), n)
    label, c = d.label(x), d.shape(x)[1]
    g = d.chance.choice([k for k in range(1, c + 1) if c % k == 0]) if d.maybe(0.3) else 1
    out, w = d.chance.choice((1, 2, 3)), window(d, n)
    attrs = dict(w.attrs)
    strides = attrs.get("strides", [1] * n)
    if d.maybe(0.3):
        attrs["output_padding"] = [d.chance.randint(0, s - 1) for s in strides]
    elif d.maybe(0.2) and "pads" not in attrs:
        attrs["output_shape"] = [m * s for m, s in zip(d.shape(x)[2:], strides, strict=True)]
    operands = [x, d.like(label, (c, out, *w.kernel))]
    operands += [d.like(label, (g * out,))] if d.maybe() else []
    d.one(op, operands, group=g if g > 1 else None, **attrs)


@family("ConvInteger")
def _(d: Draft, op: str) -> None:
    n = d.chance.choice((1, 2, 2))
    x = image(d, ("u8",), n)
    c, w = d.shape(x)[1], window(d, n)
    operands = [x, d.like("u8", (d.chance.choice((1, 3)), c, *w.kernel))]
    if d.maybe():
        operands += [d.numbers(d.chance.randint(0, 9), "u8")]
        operands += [d.numbers(d.chance.randint(0, 9), "u8")] if d.maybe() else []
    d.one(op, operands, **w.attrs)


@family("MaxPool", weight=2)
def _(d: Draft, op: str) -> None:
    n = n_axes(d)
    x = image(d, ("f32", "f64", "f16", "u8", "i8"), n)
    w = window(d, n, pools=True)
    w.require_fit(d.shape(x)[2:])
    wants = 2 if d.maybe(0.3) else 1
    order = d.chance.choice((None, 0, 1)) if wants == 2 else None
    ceil = d.chance.choice((None, 0, 1))
    d.node(op, [x], wants, kernel_shape=w.kernel, ceil_mode=ceil, storage_order=order, **w.attrs)


@family("AveragePool", weight=2)
def _(d: Draft, op: str) -> None:
    n = n_axes(d)
    x = image(d, ("f32", "f64", "f16"), n)
    w = window(d, n, pools=True)
    w.require_fit(d.shape(x)[2:])
    d.one(
        op,
        [x],
        kernel_shape=w.kernel,
        ceil_mode=d.chance.choice((None, 0, 1)),
        count_include_pad=d.chance.choice((None, 0, 1)),
        **w.attrs,
    )


@family("LpPool")
def _(d: Draft, op: str) -> None:
    n = n_axes(d)
    x = image(d, ("f32",), n)
    w = window(d, n, pools=True)
    w.require_fit(d.shape(x)[2:])
    ceil = d.chance.choice((None, 0, 1))
    d.one(
        op,
        [x],
        kernel_shape=w.kernel,
        p=d.chance.choice((None, 1, 2, 3)),
        ceil_mode=ceil,
        **w.attrs,
    )


@family("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def _(d: Draft, op: str) -> None:
    d.one(op, [image(d, ("f32", "f64", "f16"), n_axes(d))])


@family("MaxUnpool", weight=0.7)
def _(d: Draft, op: str) -> None:
    """Windows that do not overlap, so that the indices are distinct.

    The output shape is given for known sizes only, because ONNX Runtime interprets indices in this
    shape.
    """
    k = d.chance.choice((2, 3))
    h, w = (k * d.chance.choice((1, 2, 3)) for _ in "hw")
    image = some_array(d.chance, "f32", (1, d.chance.choice((1, 3)), h, w))
    is_known = d.maybe()
    x = d.constant(image) if is_known else d.given(image)
    made = d.node("MaxPool", [x], 2, kernel_shape=[k, k], strides=[k, k])
    shape = [d.constant(d.shape(x))] if is_known else []
    d.one(op, [*made, *shape], kernel_shape=[k, k], strides=[k, k])


@family("Col2Im")
def _(d: Draft, op: str) -> None:
    n = d.chance.choice((1, 2, 2, 3))
    sizes, block = image_sizes(d, n), [d.chance.choice((1, 2, 3)) for _ in range(n)]
    attrs: dict[str, Any] = {}
    # For other images than 2-D ones, ONNX Runtime adds dilated blocks at wrong positions.
    if n == 2 and d.maybe(0.4):
        attrs["dilations"] = [d.chance.choice((1, 2)) for _ in range(n)]
    if d.maybe(0.4):
        attrs["pads"] = [d.chance.choice((0, 1)) for _ in range(2 * n)]
    if d.maybe(0.4):
        attrs["strides"] = [d.chance.choice((1, 2)) for _ in range(n)]
    count = 1
    for i in range(n):
        reach = attrs.get("dilations", [1] * n)[i] * (block[i] - 1) + 1
        pads = attrs.get("pads", [0] * 2 * n)
        room = sizes[i] + pads[i] + pads[n + i] - reach
        count *= max(0, room // attrs.get("strides", [1] * n)[i] + 1)
    x = d.like("f32", (d.chance.choice((1, 2)), 2 * int(np.prod(block)), count))
    d.one(op, [x, d.constant(sizes), d.constant(block)], **attrs)


@family("DeformConv", weight=0.7)
def _(d: Draft, op: str) -> None:
    h, w, k = d.chance.choice((3, 5, 7)), d.chance.choice((3, 4)), d.chance.choice((1, 2, 3))
    c = d.chance.choice((1, 2, 4))
    out, (high, wide) = d.chance.choice((1, 3)), (h - k + 1, w - k + 1)
    x, weights = d.like("f32", (1, c, h, w)), d.like("f32", (out, c, k, k))
    offsets = d.given(some_array(d.chance, "f32", (1, 2 * k * k, high, wide)) * np.float32(0.37))
    operands = [x, weights, offsets]
    if d.maybe():
        operands += [d.like("f32", (out,)) if d.maybe() else ""]
        operands += [d.like("f32", (1, k * k, high, wide))] if d.maybe() else []
    d.one(op, operands)
