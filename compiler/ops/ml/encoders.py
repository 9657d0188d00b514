"""Table lookup, and ONNX's encoders of categories, which use the lookup."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Scalar
from compiler.errors import require
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import DType, TensorType
from compiler.ops.data_movement.concat import concat
from compiler.ops.data_movement.gather import gather
from compiler.ops.data_movement.reshape import unsqueeze
from compiler.ops.elementwise.cast import cast
from compiler.ops.elementwise.compare import equal
from compiler.ops.ml.scores import flat
from compiler.ops.type_rules.requirements import n_elements, require_rank, require_size, traffic


@op(kind="opaque")
def look_up(x: Tensor, keys: Tensor, values: Tensor, default: Tensor) -> TensorType:
    """Look up each element of x among the keys; return the value of its key, or the default.

    The keys are sorted, NaN last; if keys are equal, the lookup finds the first. The lookup is a
    binary search. Elements may be strings, for which no machine code is generated.
    Shapes: keys and values [n], the default is a scalar; the result has the shape of x.
    Errors: E-OP-DTYPE, E-OP-SHAPE.
    Source: ONNX LabelEncoder-4 (ai.onnx.ml).
    """
    for a, b in ((x, keys), (values, default)):
        require(
            a.dtype is b.dtype,
            "E-OP-DTYPE",
            f"look_up cannot match {a.dtype} with {b.dtype}",
        )
    require_rank("look_up", keys, [1], "keys")
    require_rank("look_up", values, [1], "values")
    require_rank("look_up", default, [0], "default")
    require_size("look_up", "values", values.shape[0], keys.shape[0])
    return TensorType(values.dtype, x.type.shape)


def _strides(n: int) -> list[int]:
    """Return the powers of two up to n in descending order."""
    return [1 << k for k in reversed(range(n.bit_length()))]


@look_up.reference
def _(x: Array, keys: Array, values: Array, default: Array) -> Array:
    n = len(keys)
    if not n:
        return np.full(x.shape, default[()], values.dtype)
    low = np.zeros(x.shape, np.int64)
    for stride in _strides(n):
        last = low + stride - 1
        low = np.where((last < n) & (keys[np.minimum(last, n - 1)] < x), low + stride, low)
    at = np.minimum(low, n - 1)
    found = keys[at] == x
    if x.dtype.kind == "f":
        found |= np.isnan(keys[at]) & np.isnan(x)
        at, found = (
            np.where(np.isnan(x), n - 1, at),
            np.where(np.isnan(x), np.isnan(keys[-1]), found),
        )
    return np.where(found, values[at], default)


@look_up.cost
def _(x: TensorType, keys: TensorType, *rest: TensorType, out: TensorType) -> Cost:
    steps = len(_strides(keys.static_shape[0])) + 1
    return traffic([x, keys, *rest], out, 2 * steps * n_elements(out))


@look_up.lower
def _(k: Lowering, x: Handle, keys: Handle, values: Handle, default: Handle, out: Handle) -> None:
    n = keys.shape[0]
    with k.routine() as r:
        low = r.cell(DType.i64, "low")
        with r.loops(out.shape) as i:
            r.store(low, 0)
            for stride in _strides(n):
                last = low + (stride - 1)
                smaller = k.apply("and", k.lt(last, n), k.lt(keys.at(last), x[i]))
                r.store(low, k.where(smaller, low + stride, low))
            found: Scalar = k.eq(keys.at(low), x[i])
            if x.dtype.is_float:
                r.store(low, k.where(k.isnan(x[i]), n - 1, low))
                both = k.apply("and", k.isnan(x[i]), k.isnan(keys.at(low)))
                found = k.apply("or", k.eq(keys.at(low), x[i]), both)
            if n == 0:
                found = k.number(False, DType.bool)
            inside = k.apply("and", k.lt(low, n), found)
            r.store(out[i], k.where(inside, values.at(low), default[()]))


@look_up.samples
def _() -> Iterator[tuple[Any, ...]]:
    keys = np.array([-3.5, 0.25, 1, 4, np.nan], np.float32)
    x = np.array([[4, -3.5, 0.5], [np.nan, 5, -4]], np.float32)
    values = np.array([7, -1, 2, 5, 9])
    yield [x, keys, values, np.array(-5)], {}
    yield [x, keys[:4], values[:4], np.array(-5)], {}
    yield [x, keys[:0], values[:0], np.array(-5)], {}
    whole = np.array([-4, -4, 2, 8, 11, 12, 90])
    yield ["i64[2,3,4]", whole, np.linspace(0, 1, 7), np.array(np.nan)], {}
    yield ["i32[0]", whole.astype(np.int32), whole, np.array(3)], {}


def _table(x: Tensor, keys: Array, values: Array, default: Array) -> Operand:
    require(len(keys) == len(values), "E-OP-ATTRIBUTE", "the numbers of keys and values differ")
    order = np.argsort(keys, kind="stable")
    return look_up(x, keys[order], values[order], default)


_KINDS = {"strings": np.object_, "int64s": np.int64, "floats": np.float32}
_DEFAULTS = {"strings": "_Unused", "int64s": -1, "floats": -0.0}


def _side(n: OnnxCall, side: str) -> tuple[Array, str]:
    """Return the keys or values of a LabelEncoder, and the kind of their list.

    Errors: E-OP-ATTRIBUTE.
    """
    stored = n.attr(f"{side}_tensor")
    if stored is not None:
        return stored.array().reshape(-1), "tensor"
    for kind, dtype in _KINDS.items():
        if n.attr(f"{side}_{kind}"):
            name = f"{side}_{kind}"
            return _words(n, name) if kind == "strings" else np.array(n.attr(name), dtype), kind
    require(False, "E-OP-ATTRIBUTE", f"{n.op_type} has no {side}")
    raise AssertionError


def _words(n: OnnxCall, name: str) -> Array:
    """Return a list of strings; invalid bytes are replaced."""
    given = n.attr(name) or ()
    return np.array([v if isinstance(v, str) else v.decode(errors="replace") for v in given], "O")


def _first(array: Array) -> Array:
    require(len(array) > 0, "E-OP-ATTRIBUTE", "the default value has no element")
    return array[0:1].reshape(())


def _default(n: OnnxCall, values: Array, kind: str) -> Array:
    stored = n.attr("default_tensor")
    if stored is not None:
        return _first(flat(stored, values.dtype))
    if kind == "tensor":
        word = {"O": "strings", "f": "floats"}.get(values.dtype.kind, "int64s")
        return np.array(_DEFAULTS[word], values.dtype)
    return np.array(n.attr(f"default_{kind[:-1]}", _DEFAULTS[kind]), values.dtype)


@look_up.onnx("ai.onnx.ml:LabelEncoder")
def _(n: OnnxCall) -> Operand | None:
    x = n.operand(0)
    if x is None:
        return None
    if n.opset == 1:
        words = _words(n, "classes_strings")
        return _both_ways(x, np.arange(len(words)), words, n)
    keys, _kind = _side(n, "keys")
    values, kind = _side(n, "values")
    if n.opset < 4 and keys.dtype.kind == "f":  # NaN equals NaN only since opset 4
        keys, values = keys[~np.isnan(keys)], values[: len(keys)][~np.isnan(keys)]
    return _table(x, keys, values, _default(n, values, kind))


@look_up.onnx("ai.onnx.ml:CategoryMapper")
def _(n: OnnxCall) -> Operand | None:
    x = n.operand(0)
    if x is None:
        return None
    whole = np.array(n.attr("cats_int64s") or (), np.int64)
    return _both_ways(x, whole, _words(n, "cats_strings"), n)


@look_up.export
def _(x: Tensor, keys: Tensor, values: Tensor, default: Tensor) -> Operand | None:
    tables = (keys.value, values.value, default.value)
    if any(t is None for t in tables):
        return None
    return standard(
        "LabelEncoder",
        x,
        domain="ai.onnx.ml",
        keys_tensor=keys.known,
        values_tensor=values.known,
        default_tensor=default.known.reshape(1),
    )


def _both_ways(x: Tensor, whole: Array, words: Array, n: OnnxCall) -> Operand:
    """Map strings to integers, or integers to strings, depending on the type of x."""
    if x.dtype is DType.string:
        return _table(x, words, whole, np.array(n.attr("default_int64", -1), np.int64))
    return _table(x, whole, words, np.array(n.attr("default_string", "_Unused"), np.object_))


@equal.onnx("ai.onnx.ml:OneHotEncoder")
def _(n: OnnxCall) -> Operand | None:
    """Import a one-hot encoding of categories; an unknown category gives all zeros."""
    x = n.operand(0)
    if x is None or x.type.shape is None:
        return None
    if x.dtype is DType.string:
        known = _words(n, "cats_strings")
        categories = np.arange(len(known))
        made = _table(x, known, categories, np.asarray(-1))
    else:
        categories = np.array(n.attr("cats_int64s") or (), np.int64)
        made = x if x.dtype is DType.i64 else cast(x, to=DType.i64)
    require(len(categories) > 0, "E-OP-ATTRIBUTE", f"the node lists no categories for {x.type}")
    return cast(equal(unsqueeze(made, axes=(x.rank,)), categories), to=DType.f32)


@concat.onnx("ai.onnx.ml:FeatureVectorizer")
def _(n: OnnxCall) -> Operand | None:
    """Import a concatenation of features as f32; each feature is cropped to its declared width."""
    sizes = n.attr("inputdimensions") or ()
    parts: list[Operand] = []
    for k, x in enumerate(n.operands):
        if x is None or x.type.shape is None or x.rank not in (1, 2):
            return None
        width = x.shape[1] if x.rank == 2 else 1
        if k < len(sizes) and isinstance(width, int) and width > sizes[k]:
            parts.append(cast(gather(x, np.arange(sizes[k]), axis=1), to=DType.f32))
            continue
        if k < len(sizes) and width != sizes[k]:
            return None
        column = x if x.rank == 2 else unsqueeze(x, axes=(1,))
        parts.append(column if x.dtype is DType.f32 else cast(column, to=DType.f32))
    return concat(*parts, axis=1) if parts else None
