"""The cases of the grid: unusual windows, strides, dilations, groups, axes, types and ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.operator_grid.case import Case, Shape
from compiler.ir.operator import Array


def cases() -> Iterator[Case]:
    """Yield all cases, operator by operator."""
    yield from _pools()
    yield from _convolutions()
    yield from _transposed_convolutions()
    yield from _products()
    yield from _reductions()
    yield from _rows()
    yield from _elementwise()
    yield from _movement()
    yield from _resizes()
    yield from _choices()


def _weights(*shape: int) -> Array:
    return np.random.default_rng(1).standard_normal(shape, np.float32)


def _pools() -> Iterator[Case]:
    image: Shape = (1, 32, 57, 59)
    for op in ("MaxPool", "AveragePool", "LpPool"):
        for k, s, d in (
            (2, 2, 1), (3, 1, 1), (3, 2, 1), (3, 1, 7), (5, 1, 1), (5, 3, 2), (7, 2, 1),
            (9, 1, 1), (13, 1, 1), (31, 2, 1), (57, 1, 1),
        ):  # fmt: skip
            pads = [min(d * (k - 1) // 2, k - 1)] * 4
            attrs = {"kernel_shape": [k, k], "strides": [s, s], "pads": pads}
            # For large windows of other operators than MaxPool, the peer takes seconds.
            if op == "MaxPool" or (d == 1 and k <= 13):
                spread = {"dilations": [d, d]} if d > 1 else {}
                yield Case(op, f"{k}x{k} s{s} d{d}", [image], attrs | spread)
        yield Case(op, "1x9", [image], {"kernel_shape": [1, 9]})
        yield Case(op, "9x1", [image], {"kernel_shape": [9, 1]})
        yield Case(op, "1d 65", [(2, 32, 4099)], {"kernel_shape": [65]})
        yield Case(op, "3d 3", [(1, 8, 17, 31, 29)], {"kernel_shape": [3, 3, 3]})
        yield Case(op, "3x3 open", [image], {"kernel_shape": [3, 3]}, is_open=True)
        yield Case(op, "9x9 open", [image], {"kernel_shape": [9, 9]}, is_open=True)
        for k, step in ((3, 1), (3, 2), (7, 2), (13, 1)):
            attrs = {"kernel_shape": [k, k], "strides": [step, step], "pads": [k // 2] * 4}
            if op == "MaxPool" or k < 13:
                yield Case(op, f"{k}x{k} s{step} padded open", [image], attrs, is_open=True)
    larger = {"kernel_shape": [640, 640], "strides": [640, 640], "ceil_mode": 1}
    yield Case("AveragePool", "640 on 7x7", [(4, 640, 7, 7)], larger)
    for op in ("GlobalAveragePool", "GlobalMaxPool"):
        for shape in ((1, 1280, 7, 7), (1, 64, 57, 59), (2, 2048, 33)):
            yield Case(op, "x".join(map(str, shape)), [shape])


def _convolutions() -> Iterator[Case]:
    for k, s, d, groups, channels, size in (
        (1, 1, 1, 1, 64, 57), (1, 2, 1, 1, 64, 57), (3, 1, 1, 1, 64, 29), (3, 2, 1, 1, 48, 57),
        (3, 1, 2, 1, 64, 29), (3, 1, 13, 1, 64, 29), (5, 1, 1, 1, 32, 29), (7, 2, 1, 1, 24, 57),
        (11, 4, 1, 1, 16, 113), (3, 1, 1, 4, 64, 57), (3, 1, 1, 32, 96, 57),
        (3, 1, 1, 64, 64, 57), (3, 2, 1, 64, 64, 57), (5, 1, 1, 64, 64, 57),
        (5, 2, 1, 64, 64, 57), (7, 1, 1, 64, 64, 57), (7, 2, 1, 64, 64, 57),
        (3, 1, 5, 64, 64, 57), (31, 1, 1, 16, 16, 57), (3, 1, 1, 1, 3, 113), (3, 1, 1, 1, 64, 1),
    ):  # fmt: skip
        outputs = channels if groups > 1 else 64
        attrs = {"pads": [d * (k - 1) // 2] * 4, "strides": [s, s], "dilations": [d, d]}
        w = _weights(outputs, channels // groups, k, k)
        name = f"{k}x{k} s{s} d{d} g{groups} c{channels} {size}"
        yield Case("Conv", name, [(1, channels, size, size), w], attrs | {"group": groups})
        if size == 57 and s == 1:
            open_sizes = attrs | {"group": groups}
            yield Case("Conv", f"{name} open", [(1, channels, size, size), w], open_sizes,
                       is_open=True)  # fmt: skip
    for k, d in ((3, 1), (3, 512), (31, 1), (255, 1)):
        pads = [d * (k - 1) // 2] * 2
        w = _weights(32, 32, k)
        yield Case("Conv", f"1d {k} d{d}", [(1, 32, 2049), w], {"pads": pads, "dilations": [d]})
    yield Case("Conv", "3d 3", [(1, 8, 13, 29, 31), _weights(16, 8, 3, 3, 3)])


def _transposed_convolutions() -> Iterator[Case]:
    for k, s, groups in ((2, 2, 1), (3, 1, 1), (3, 2, 1), (4, 2, 1), (5, 3, 1), (4, 2, 32)):
        w = _weights(32, 32 // groups, k, k)
        attrs = {"strides": [s, s], "group": groups}
        yield Case("ConvTranspose", f"{k}x{k} s{s} g{groups}", [(1, 32, 29, 31), w], attrs)
    yield Case("ConvTranspose", "1d 16 s8", [(1, 64, 257), _weights(64, 32, 16)],
               {"strides": [8]})  # fmt: skip


def _products() -> Iterator[Case]:
    for a, b in (
        ((1, 1024), (1024, 1000)), ((7, 513), (513, 257)), ((257, 33), (33, 129)),
        ((1000, 3), (3, 1000)), ((5, 4099), (4099, 3)), ((12, 65, 64), (12, 64, 67)),
        ((129, 129, 1), (129, 1, 65)), ((200, 7, 9), (200, 9, 11)), ((300, 1, 64), (300, 64, 65)),
        ((1, 5000), (5000, 1)), ((511, 512), (512,)),
    ):  # fmt: skip
        name = f"{'x'.join(map(str, a))} by {'x'.join(map(str, b))}"
        yield Case("MatMul", name, [a, b])
        if len(b) == 2:
            yield Case("MatMul", f"{name} constant", [a, _weights(*b)])
            yield Case("MatMul", f"{name} constant open", [a, _weights(*b)], is_open=True)
    yield Case("Gemm", "both transposed", [(513, 65), (129, 513), (129,)],
               {"transA": 1, "transB": 1, "alpha": 0.5})  # fmt: skip


def _axes_cases(op: str, shape: Shape, axes: Sequence[int], dtype: Any = np.float32) -> Case:
    name = f"{'x'.join(map(str, shape))} over {list(axes)} {np.dtype(dtype).name}"
    axes_known = np.array(axes, np.int64)
    if op.startswith("Arg"):
        return Case(op, name, [shape], {"axis": axes[0]}, dtype)
    return Case(op, name, [shape, axes_known], dtype=dtype)


def _reductions() -> Iterator[Case]:
    for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceProd", "ReduceL2", "ReduceLogSumExp"):
        for shape, axes in (
            ((513, 517), (1,)), ((513, 517), (0,)), ((33, 65, 129), (0, 2)),
            ((33, 65, 129), (1,)), ((7, 40000), (0,)), ((40000, 7), (1,)), ((40000, 7), (0,)),
            ((9, 8, 7, 65, 5), (1, 3)), ((300000,), (0,)),
        ):  # fmt: skip
            yield _axes_cases(op, shape, axes)
    for dtype in (np.int32, np.int64, np.float64):
        yield _axes_cases("ReduceSum", (513, 517), (0,), dtype)
        yield _axes_cases("ReduceMax", (513, 517), (1,), dtype)
    for op in ("ArgMax", "ArgMin"):
        for axis in (0, 1, 2):
            yield _axes_cases(op, (33, 65, 129), (axis,))


def _rows() -> Iterator[Case]:
    shapes = ((512, 512), (40, 9, 513), (4099, 7), (3, 100003))
    for shape in shapes:
        for axis in range(len(shape)):
            for op in ("Softmax", "LogSoftmax"):
                yield Case(op, f"{shape} axis {axis}", [shape], {"axis": axis})
            if axis == len(shape) - 1:
                scale = _weights(shape[axis])
                yield Case("LayerNormalization", f"{shape}", [shape, scale, scale])
    yield Case("Softmax", "(512, 512) open", [(512, 512)], is_open=True)
    yield Case("InstanceNormalization", "33x57x59", [(1, 33, 57, 59), _weights(33), _weights(33)])
    yield Case("GroupNormalization", "32x57x59", [(1, 32, 57, 59), _weights(32), _weights(32)],
               {"num_groups": 8})  # fmt: skip
    yield Case("LpNormalization", "axis 1", [(33, 65, 129)], {"axis": 1})
    yield Case("LRN", "5", [(1, 33, 57, 59)], {"size": 5})
    for axis in (0, 1, 2):
        yield Case("CumSum", f"axis {axis}", [(33, 65, 129), np.array(axis, np.int64)])


def _elementwise() -> Iterator[Case]:
    for a, b in (
        ((513, 1031), (513, 1031)), ((513, 1031), (1031,)), ((513, 1031), (513, 1)),
        ((33, 1, 257), (1, 65, 1)), ((65, 33, 7, 9), (33, 1, 1)), ((9999, 7), (7,)),
    ):  # fmt: skip
        for op in ("Add", "Mul", "Div", "Max", "Greater", "PRelu"):
            if op != "PRelu" or (len(a) >= len(b) and a[0] != 33):
                yield Case(op, f"{a} {b}", [a, b])
    for dtype in (np.int8, np.int32, np.int64, np.float64, np.float16):
        yield Case("Add", f"(513, 1031) {np.dtype(dtype).name}", [(513, 1031)] * 2, {}, dtype)
    for op in ("Exp", "Tanh", "Erf", "Sigmoid", "Gelu", "Softplus", "Sin", "Floor", "Round",
               "HardSwish", "Elu", "Mish", "Atan", "Sqrt", "Sign", "IsNaN"):  # fmt: skip
        yield Case(op, "(301, 401)", [(301, 401)])
    for to in (6, 7, 9, 10, 11):
        yield Case("Cast", f"to {to}", [(513, 1031)], {"to": to})


def _movement() -> Iterator[Case]:
    for shape, perm in (
        ((513, 1031), (1, 0)), ((33, 65, 129), (2, 1, 0)), ((33, 65, 129), (1, 0, 2)),
        ((9, 33, 17, 65), (0, 2, 3, 1)), ((9, 33, 17, 65), (0, 3, 1, 2)),
        ((40000, 3), (1, 0)), ((3, 40000), (1, 0)), ((5, 6, 7, 8, 9, 10), (5, 2, 0, 4, 1, 3)),
    ):  # fmt: skip
        for dtype in (np.float32, np.uint8, np.int64):
            name = f"{shape} {perm} {np.dtype(dtype).name}"
            yield Case("Transpose", name, [shape], {"perm": perm}, dtype)
    for axis in (0, 1, 2):
        yield Case("Concat", f"axis {axis}", [(65, 67, 69)] * 3, {"axis": axis})
        yield Case("Split", f"axis {axis}", [(66, 66, 66)], {"axis": axis, "num_outputs": 3},
                   n_outputs=3)  # fmt: skip
        index = np.random.default_rng(2).integers(0, 65, 101)
        yield Case("Gather", f"axis {axis}", [(65, 67, 69), index], {"axis": axis})
        step = [np.array([v], np.int64) for v in (1, 60, axis, 3)]
        yield Case("Slice", f"axis {axis} by 3", [(165, 167, 69), *step])
        back = [np.array([v], np.int64) for v in (-1, -1000, axis, -1)]
        yield Case("Slice", f"axis {axis} reversed", [(65, 67, 69), *back])
    for mode in ("constant", "reflect", "edge"):
        pads = np.array([0, 0, 3, 5, 0, 0, 4, 7], np.int64)
        yield Case("Pad", mode, [(1, 33, 57, 59), pads], {"mode": mode})
    yield Case("Tile", "2 1 3", [(33, 65, 69), np.array([2, 1, 3], np.int64)])
    yield Case("Expand", "middle", [(65, 1, 69), np.array([65, 67, 69], np.int64)])
    yield Case("DepthToSpace", "2", [(1, 128, 33, 31)], {"blocksize": 2})
    yield Case("SpaceToDepth", "2", [(1, 32, 66, 62)], {"blocksize": 2})


def _resizes() -> Iterator[Case]:
    for mode in ("nearest", "linear", "cubic"):
        for scale in (2.0, 0.5, 1.7):
            scales = np.array([1, 1, scale, scale], np.float32)
            attrs = {"mode": mode}
            yield Case("Resize", f"{mode} {scale}", [(1, 32, 57, 59), None, scales], attrs)


def _choices() -> Iterator[Case]:
    yield Case("TopK", "5 of 1000", [(100, 1000), np.array([5], np.int64)], n_outputs=2)
    yield Case("TopK", "5 axis 0", [(1000, 100), np.array([5], np.int64)], {"axis": 0}, n_outputs=2)
    yield Case("Trilu", "513", [(9, 129, 131)], {"upper": 1})
    yield Case("Clip", "open", [(513, 1031), np.array(-1, np.float32), None], is_open=True)
    yield Case("OneHot", "64", [(3000,), np.array(64, np.int64), np.array([0, 1], np.float32)],
               dtype=np.int64)  # fmt: skip
    yield Case("NonZero", "bool", [(301, 401)], dtype=np.bool_)
    yield Case("Einsum", "bij,bjk->bik", [(12, 65, 64), (12, 64, 67)],
               {"equation": "bij,bjk->bik"})  # fmt: skip
