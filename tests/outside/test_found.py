"""Tests of reduced models that sweeps found, judged as in a sweep."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest

from tests.outside.case import Case
from tests.outside.trial import try_case

Arrays = dict[str, Any]


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """Return distinct numbers from -2 on."""
    return (np.arange(int(np.prod(shape))).reshape(shape) * 0.75 - 2).astype(dtype)


def whole(*shape: int, dtype: Any = np.int64) -> np.ndarray[Any, Any]:
    return np.arange(1, int(np.prod(shape)) + 1).reshape(shape).astype(dtype)


def i64(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int64)


FOUND: dict[str, tuple[str, Arrays]] = {
    "labels of an equation that are names of sizes": (
        """g (int64[N,M] x, int64[M,A] y) => (int64[] z) {
            z = Einsum<equation: string = "NA,AM->MN">(x, y)
        }""",
        {"x": whole(2, 3), "y": whole(3, 5)},
    ),
    "parts of a value whose axes have one symbol and two sizes": (
        """g (float[N,N] x, int64[N] sizes) => (float[] a, float[] b, float[] c, float[] d) {
            axes = Constant<value: tensor = int64[2] {-4, 3}>()
            p, q, r = Split<axis: int = 1>(x, sizes)
            a = Unsqueeze(r, axes)
            b = Transpose<perm: ints = [1, 0]>(q)
            c = Softmax<axis: int = 1>(q)
            d = Concat<axis: int = 1>(p, q, r)
        }""",
        {"x": numbers(1, 2), "sizes": i64(0, 2, 0)},
    ),
    "a product minus a function of the same product": (
        """g (float[5,33] x, float[5,33] y) => (bool[5,33] b) {
            low = Constant<value: tensor = float {-4.0}>()
            high = Constant<value: tensor = float {4.0}>()
            product = Mul(x, y)
            clipped = Clip(product, low, high)
            difference = Sub(product, clipped)
            b = Cast<to: int = 9>(difference)
        }""",
        {"x": np.sin(numbers(5, 33)), "y": np.cos(numbers(5, 33) * 0.3)},
    ),
    "a window over a slice that is too short for large sizes": (
        """g (float[2,2,n] x, float[3,2,3] w) => (float[] y) {
            start = Constant<value: tensor = int64[1] {-9}>()
            stop = Constant<value: tensor = int64[1] {6}>()
            axis = Constant<value: tensor = int64[1] {2}>()
            part = Slice(x, start, stop, axis)
            y = Conv(part, w)
        }""",
        {"x": numbers(2, 2, 11), "w": numbers(3, 2, 3)},
    ),
    "a shape of a squeezed value whose sizes only folding reveals": (
        """g (float[1] unused) => (float[] y, float[] z) {
            boxes = Constant<value: tensor = float[1,1,4] {0.1, 1.7, 1.3, 4.3}>()
            scores = Constant<value: tensor = float[1,2,1] {0.0, 0.5}>()
            most = Constant<value: tensor = int64[1] {2}>()
            overlap = Constant<value: tensor = float[1] {0.5}>()
            least = Constant<value: tensor = float[1] {0.3}>()
            kept = NonMaxSuppression(boxes, scores, most, overlap, least)
            squeezed = Squeeze(kept)
            shape = Shape(squeezed)
            y = ConstantOfShape<value: tensor = float[1] {-1.5}>(shape)
            z = Neg(unused)
        }""",
        {"unused": numbers(1)},
    ),
    "logarithms of sums of integers over axes that are data": (
        """g (int64[2,3] x, int64[1] axes) => (int64[] y, int64[] z) {
            y = ReduceLogSum(x, axes)
            z = ReduceLogSumExp(x, axes)
        }""",
        {"x": whole(2, 3) * 20, "axes": i64(1)},
    ),
    "repeated axes, known and as data": (
        """g (float[2,1,3] x, int64[3] axes) => (float[] a, float[] b, float[] c, float[] d) {
            same = Constant<value: tensor = int64[2] {-2, 1}>()
            a = Squeeze(x, axes)
            b = Squeeze(x, same)
            c = ReduceSum(x, axes)
            d = ReduceMean<keepdims = 0>(x, same)
        }""",
        {"x": numbers(2, 1, 3), "axes": i64(1, -2, 1)},
    ),
    "an element of a table, scaled by a vector": (
        """g (int64 row) => (float[3] y, float[2,1] z) {
            table = Constant<value: tensor = float[3] {1.5, -2.0, 4.0}>()
            column = Constant<value: tensor = float[2,1] {3.0, 0.5}>()
            element = Gather(table, row)
            y = Mul(element, table)
            other = Gather(table, row)
            z = Add(column, other)
        }""",
        {"row": np.array(1)},
    ),
    "integers in the form of hard functions": (
        """g (int32[2,3] x) => (int32[2,3] y, int32[2,3] z) {
            three = Constant<value: tensor = int32 {3}>()
            zero = Constant<value: tensor = int32 {0}>()
            six = Constant<value: tensor = int32 {6}>()
            a = Add(x, three)
            z = Clip(a, zero, six)
            b = Mul(x, z)
            y = Div(b, six)
        }""",
        {"x": np.array([[1, 2, 9], [-7, -1, 4]], np.int32)},
    ),
    "logarithms of sums of large exponentials, of unknown rank and over axes that are data": (
        """g (float[N,M] x, float[2,3] y, int64[n] shape, int64[1] axes)
            => (float[] a, float[] b, float[] c, float[] d) {
            known = Constant<value: tensor = int64[1] {-1}>()
            seen = Reshape(x, shape)
            a = ReduceLogSumExp<keepdims = 0>(seen, known)
            b = ReduceLogSumExp<keepdims = 0>(y, axes)
            c = ReduceLogSumExp<noop_with_empty_axes = 1>(y, axes)
            d = ReduceLogSumExp(seen, axes)
        }""",
        {
            "x": numbers(2, 6) * 500,
            "y": numbers(2, 3) * 900,
            "shape": i64(3, 4),
            "axes": i64(1),
        },
    ),
    "a reduction of a scalar, with an axis inserted": (
        """g (float x, float[2,3] z) => (float[1] y, float[1,1] w, float[1] v) {
            first = Constant<value: tensor = int64[1] {0}>()
            none = Constant<value: tensor = int64[0] {}>()
            s = ReduceSumSquare<keepdims = 0>(x)
            y = Unsqueeze(s, first)
            both = Constant<value: tensor = int64[2] {0, -1}>()
            t = ReduceSumSquare<keepdims = 0>(x, none)
            w = Unsqueeze(t, both)
            u = ReduceMax<keepdims = 0>(z)
            v = Unsqueeze(u, first)
        }""",
        {"x": np.array(-1.5, np.float32), "z": numbers(2, 3)},
    ),
    "one text of several": (
        """g (string[3] x) => (string[] y) {
            last = Constant<value: tensor = int64 {-1}>()
            y = Gather<axis: int = 0>(x, last)
        }""",
        {"x": np.array(["", "The cat", "ab"], object)},
    ),
    "a norm of f64 over axes that are data": (
        "g (double[2,3] x, int64[1] axes) => (double[] y) { y = ReduceL2(x, axes) }",
        {"x": numbers(2, 3, dtype=np.float64) / 7, "axes": i64(1)},
    ),
    "a normalisation of f64 whose rank is not known": (
        """g (double[N,4] x, int64[n] shape) => (double[] y) {
            r = Reshape(x, shape)
            y = LayerNormalization<axis: int = 1>(r, r)
        }""",
        {"x": numbers(3, 4, dtype=np.float64) / 7, "shape": i64(1, 12)},
    ),
    "a transform of a length that is data": (
        """g (float[2,N,1] x, int64 length, float[A,B,C] w) => (float[] y) {
            f = DFT(x, length)
            y = Max(f, w)
        }""",
        {"x": numbers(2, 7, 1) / 7, "length": np.array(3, np.int64), "w": numbers(1, 3, 2) / 5},
    ),
    "a product less itself": (
        """g (float[2,9] x, float[9] y) => (float[2,9] z) {
            p = Mul(x, y)
            z = Sub(p, p)
        }""",
        {"x": numbers(2, 9) / 7, "y": numbers(9) / 3},
    ),
    "a loss less itself": (
        """g (float[N,5] x) => (float y) <int64[3] labels = {1, 4, 2}> {
            loss = SoftmaxCrossEntropyLoss(x, labels)
            y = Sub(loss, loss)
        }""",
        {"x": numbers(3, 5) / 7},
    ),
    "unsigned numbers shrunk": (
        "g (uint16[5] x) => (uint16[] y) { y = Shrink<bias=1.0, lambd=2.0>(x) }",
        {"x": whole(5, dtype=np.uint16)},
    ),
    "a slice backwards from before an open axis": (
        """g (float[N,2] x) => (float[] y)
            <int64[1] starts={-6}, int64[1] ends={-15}, int64[1] axes={0}, int64[1] steps={-1}>
        { y = Slice(x, starts, ends, axes, steps) }""",
        {"x": numbers(5, 2)},
    ),
    "two sizes of one name": (
        """g (float[N,3] x, float[N,N] w) => (float[] y, int64[] n) {
            y = MatMul(w, x)
            n = Shape(w)
        }""",
        {"x": numbers(5, 3), "w": numbers(2, 5)},
    ),
    "two sizes of one name that do not fit if they are equal": (
        """g (float[1,5,N] x, float[N] w) => (float[] y)
            <float[1,1,1,1] c = {0.5}, int64[1] one = {1}, int64[1] rest = {-1}>
        {
            n = Shape(w)
            sizes = Concat<axis: int = 0>(one, n, one, rest)
            r = Reshape(x, sizes)
            y = Concat<axis: int = 1>(r, c)
        }""",
        {"x": numbers(1, 5, 1), "w": numbers(5)},
    ),
    "a loop without steps that hands on a captured value": (
        """g (float[N,2] x, int64 turns) => (float[] rows) {
            rows = Loop(turns, "") <body = b (int64 i, bool go) => (bool on, float[] row) {
                on = Identity(go)
                row = Sigmoid(x)
            }>
        }""",
        {"x": numbers(3, 2), "turns": np.array(0, np.int64)},
    ),
    "a loop that collects values of unknown rank": (
        """g (float[2,3] x, int64[n] axes) => (float[] rows) <int64 turns={2}> {
            wide = Unsqueeze(x, axes)
            rows = Loop(turns, "") <body = b (int64 i, bool go) => (bool on, float[] row) {
                on = Identity(go)
                row = Abs(wide)
            }>
        }""",
        {"x": numbers(2, 3), "axes": i64(0)},
    ),
    "an open letter of an equation beside a fixed one": (
        """g (float[M,N] x, float[2] w) => (float[] y) { y = Einsum<equation="ij,j->i">(x, w) }""",
        {"x": numbers(3, 2), "w": numbers(2)},
    ),
    "a shape that fits for one size only": (
        """g (float[N,N,N,5] x) => (float[] y)
            <int64[1] one={1}, int64[1] two={2}, int64[1] end={5}>
        {
            n = Shape<start=0, end=1>(x)
            twice = Concat<axis=1>(x, x)
            shape = Concat<axis=0>(one, two, n, end)
            flat = Reshape(twice, shape)
            half = Selu(flat)
            y = Mul(half, flat)
        }""",
        {"x": numbers(1, 1, 1, 5)},
    ),
    "a tensor inserted behind the last one": (
        """g (int64[1] x, int64[1] z) => (int64[] y) <int64 end={1}, int64 last={-1}> {
            one = SequenceConstruct(x)
            two = SequenceInsert(one, z, end)
            y = SequenceAt(two, last)
        }""",
        {"x": i64(7), "z": i64(9)},
    ),
    "a loop without states, and a condition that is left out": (
        """g (float[2] x) => (float[] rows) <int64 turns={1}, int64 one={1}, int64 last={-1}> {
            rows = Loop(turns, "") <body = b (int64 i, bool go) => (bool on, float[] row) {
                on = Less(i, one)
                two = SequenceConstruct(x, x)
                row = SequenceAt(two, last)
            }>
        }""",
        {"x": numbers(2)},
    ),
    "a sequence of what is only known when it is folded": (
        """g (float[2] z) => (int64[] y, float[] w)
            <float[2,3] x={1.0, 0.0, 2.0, 0.0, 0.0, 5.0}, int64 first={0}>
        {
            places = NonZero(x)
            one = SequenceConstruct(places)
            y = SequenceAt(one, first)
            w = Abs(z)
        }""",
        {"z": numbers(2)},
    ),
    "texts that differ along an axis": (
        """g (string[2,3] x) => (string[] y, int64[] at) {
            y, at = Unique<axis=-1, sorted=0>(x)
        }""",
        {"x": np.array([["b", "a", "b"], ["c", "é", "c"]], object)},
    ),
    "whole numbers shrunk by half": (
        "g (int64[5] x) => (int64[] y) { y = Shrink<bias=0.5, lambd=2.0>(x) }",
        {"x": whole(5)},
    ),
    "lengths and means of whole numbers whose squares and sums do not fit": (
        """g (int32[2,3] x) => (int32[] y, int32[] z) <int64[1] axes={1}> {
            y = ReduceL2(x, axes)
            z = ReduceMean(x, axes)
        }""",
        {"x": whole(2, 3, dtype=np.int32) * 300_000_000},
    ),
    "the largest element in columns, of two that are equal": (
        """g (float[1,1,3,3] x) => (float[] y, int64[] at) {
            y, at = MaxPool<kernel_shape=[2, 2], pads=[0, 1, 1, 0], storage_order=1>(x)
        }""",
        {"x": np.array([1, 4, 4, 4, 4, 2, 0, 4, 4], np.float32).reshape(1, 1, 3, 3)},
    ),
    "a condition longer than an axis whose size has the same name": (
        "g (int32[2,N] x, bool[N] c) => (int32[] y) { y = Compress<axis=1>(x, c) }",
        {"x": whole(2, 3, dtype=np.int32), "c": np.array([True, False, True, True, True])},
    ),
    "a condition longer than its axis": (
        "g (float[N,3] x, bool[M] c) => (float[] y) { y = Compress<axis=1>(x, c) }",
        {"x": numbers(2, 3), "c": np.array([0, 1, 0, 1, 1], bool)},
    ),
    "sequences of numbers that rounding moves": (
        """g (seq(float[2,3]) x) => (seq(float[]) y) {
            y = SequenceMap(x) <body = b (float[2,3] part) => (float[] made) {
                turned = Transpose(part)
                product = MatMul(turned, part)
                made = Softmax(product)
            }>
        }""",
        {"x": [numbers(2, 3) * np.float32(1.7), numbers(2, 3) * np.float32(0.3)]},
    ),
    "an open axis that shrinks to one element": (
        """g (float[1,1,H,W] x) => (float[] y, float[] z) <float[4] scales={1, 1, 0.25, 0.25}> {
            y = Resize<mode="linear", coordinate_transformation_mode="pytorch_half_pixel">
                (x, "", scales)
            z = Resize<coordinate_transformation_mode="pytorch_half_pixel">(x, "", scales)
        }""",
        {"x": numbers(1, 1, 5, 9)},
    ),
    "a rank that elements of one input decide, a shape those of another": (
        """g (float[2,5] x, int64[1] axes, int64[2] shape) => (float[] y) {
            wide = Unsqueeze(x, axes)
            y = Reshape(wide, shape)
        }""",
        {"x": numbers(2, 5), "axes": i64(1), "shape": i64(5, -1)},
    ),
    "updates of a rank that elements decide, at indices of open length": (
        """g (float[4,3] x, int64[N,M] at, float[3] part, int64[1] axes) => (float[] y) {
            rows = Unsqueeze(part, axes)
            y = ScatterND(x, at, rows)
        }""",
        {"x": numbers(4, 3), "at": i64(2).reshape(1, 1), "part": numbers(3) * 5, "axes": i64(0)},
    ),
    "data of unknown rank, at indices of open length": (
        """g (seq(float[]) parts, int64[3,N] at, float[3] part) => (float[] y) {
            data = ConcatFromSequence<axis=0>(parts)
            y = ScatterND(data, at, part)
        }""",
        {"parts": [numbers(4), numbers(3)], "at": i64(6, 0, 2).reshape(3, 1), "part": numbers(3)},
    ),
    "a count whose own length has no name": (
        "g (float[?,3] x, int64[?] k) => (float[] y) { y, places = TopK<axis=0>(x, k) }",
        {"x": numbers(4, 3), "k": i64(2)},
    ),
    "a scale that leaves no elements": (
        """g (float[1,2,N,3] x) => (float[] y) <float[4] scales={1, 1, 0.6, 2}> {
            y = Resize<mode="linear">(x, "", scales)
        }""",
        {"x": numbers(1, 2, 1, 3)},
    ),
    "a number that is shifted to a matrix before a product": (
        """g (float x) => (float[] y) <float[2,2] c={1, 2, 3, 4}, float[2,1] w={5, 6}> {
            shifted = Add(x, c)
            y = MatMul(shifted, w)
        }""",
        {"x": np.array(0.5, np.float32)},
    ),
    "shapes for a tensor of unknown rank": (
        """g (bool go, float[2,3] x, float[2,3,4] z, int64[?] s, int64[2] t)
            => (float[] a, float[] b, float[] c) {
            either = If(go) <
                then_branch = p () => (float[] p) { p = Identity(x) },
                else_branch = q () => (float[] q) { q = Identity(z) }>
            keep = Constant<value: tensor = int64[2] {0, -1}>()
            a = Expand(either, s)
            b = Reshape(either, t)
            c = Reshape(either, keep)
        }""",
        {
            "go": np.array(False),
            "x": numbers(2, 3),
            "z": numbers(2, 3, 4),
            "s": i64(5, 1, 1, 4),
            "t": i64(0, -1),
        },
    ),
    "a slice of run-time length between transposes": (
        """g (float[3,5,40] x, int64[1] end) => (float[] y)
            <int64[1] start={3}, int64[1] axes={1}, int64[1] step={1}> {
            turned = Transpose<perm=[0,2,1]>(x)
            part = Slice(turned, start, end, axes, step)
            y = Transpose<perm=[0,2,1]>(part)
        }""",
        {"x": numbers(3, 5, 40), "end": i64(30)},
    ),
    "default attributes on f64": (
        """g (double[2,3] x, double[3] scale) => (double[] y, double[] z, double[] w) {
            y = LayerNormalization(x, scale)
            z = Selu(x)
            w = HardSwish(x)
        }""",
        {"x": numbers(2, 3, dtype=np.float64), "scale": numbers(3, dtype=np.float64)},
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_models_that_once_failed(name: str) -> None:
    text, feeds = FOUND[name]
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 18]> {text}')
    outcome = try_case(Case(model, [feeds]))
    assert outcome.kind == "right", outcome
