"""Element types and random arrays for inputs and constants of random models."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from onnx import TensorProto

Array = np.ndarray[Any, np.dtype[Any]]
Shape = tuple[int, ...]

F32, F64, F16, BF16 = "f32", "f64", "f16", "bf16"
FLOATS = (F32, F64, F16, BF16)
SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = (*SIGNED, *UNSIGNED)
NUMBERS = (*FLOATS, *INTEGERS)
FLOAT8 = ("f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz")
NIBBLES = ("i4", "u4")
TENSORS = (*NUMBERS, "bool")

_TABLE: dict[str, tuple[int, Any]] = {
    "f32": (TensorProto.FLOAT, np.float32),
    "f64": (TensorProto.DOUBLE, np.float64),
    "f16": (TensorProto.FLOAT16, np.float16),
    "bf16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16),
    "i8": (TensorProto.INT8, np.int8),
    "i16": (TensorProto.INT16, np.int16),
    "i32": (TensorProto.INT32, np.int32),
    "i64": (TensorProto.INT64, np.int64),
    "u8": (TensorProto.UINT8, np.uint8),
    "u16": (TensorProto.UINT16, np.uint16),
    "u32": (TensorProto.UINT32, np.uint32),
    "u64": (TensorProto.UINT64, np.uint64),
    "bool": (TensorProto.BOOL, np.bool_),
    "str": (TensorProto.STRING, np.object_),
    "f8e4m3fn": (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn),
    "f8e4m3fnuz": (TensorProto.FLOAT8E4M3FNUZ, ml_dtypes.float8_e4m3fnuz),
    "f8e5m2": (TensorProto.FLOAT8E5M2, ml_dtypes.float8_e5m2),
    "f8e5m2fnuz": (TensorProto.FLOAT8E5M2FNUZ, ml_dtypes.float8_e5m2fnuz),
    "i4": (TensorProto.INT4, ml_dtypes.int4),
    "u4": (TensorProto.UINT4, ml_dtypes.uint4),
}
_LABELS = {np.dtype(t): label for label, (_, t) in _TABLE.items()}

NARROW = {BF16: F32, **dict.fromkeys(FLOAT8, F32), "i4": "i8", "u4": "u8"}
"""Element types without numpy type, and a type that represents all their values. Inputs and results
of models do not have these types, since not all runtimes accept such arrays."""

SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17, 31, 33, 65, 129)
"""Sizes of axes: 0, 1, primes, and one more than the lanes of vectors."""

MOST_ELEMENTS = 6000
"""Steps with a larger result are dropped."""

WORDS = ("", "a", "ab", "Ab", "c d", "The cat", "é", "17", "0.5", "the", "zz top")


def code(label: str) -> int:
    """Return the number of an element type in ONNX."""
    return _TABLE[label][0]


def numpy_type(label: str) -> Any:
    return np.dtype(_TABLE[label][1])


def label_of(value: Any) -> str:
    """Return the element type of an array; "" for other values."""
    return _LABELS[value.dtype] if isinstance(value, np.ndarray) else ""


def label_of_code(number: int) -> str:
    return next(label for label, (n, _) in _TABLE.items() if n == number)


def some_shape(chance: random.Random, low: int = 0, high: int = 5) -> Shape:
    """Return a shape of few elements; one in twelve is empty."""
    rank = chance.choice([r for r in (0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5) if low <= r <= high])
    empty = chance.random() < 0.08
    shape = [chance.choice(SIZES if empty else SIZES[1:]) for _ in range(rank)]
    while np.prod(shape, dtype=float) > MOST_ELEMENTS / 4:
        k = max(range(rank), key=lambda i: shape[i])
        shape[k] = chance.choice((1, 2, 3, 5, 7))
    return tuple(shape)


def some_array(chance: random.Random, label: str, shape: Sequence[int]) -> Array:
    """Return numbers of both signs with zeros, ties and integers; integers of all magnitudes."""
    numbers = np.random.default_rng(chance.getrandbits(64))
    shape = tuple(shape)
    if label == "bool":
        return np.asarray(numbers.random(shape) < 0.5)
    if label == "str":
        return np.array(numbers.choice(WORDS, shape), dtype=object).reshape(shape)
    if label in (*FLOATS, *FLOAT8):
        x = numbers.standard_normal(shape) * chance.choice((0.5, 1.0, 1.0, 3.0))
        if chance.random() < 0.3:  # to create ties
            x = np.round(x * 2) / 2
        return np.asarray(x, numpy_type(label))
    if label in NIBBLES:
        low = -8 if label == "i4" else 0
        return numbers.integers(low, low + 16, shape, dtype=np.int8).astype(numpy_type(label))
    info = np.iinfo(numpy_type(label))
    if chance.random() < 0.25:
        made = numbers.integers(info.min, info.max, shape, numpy_type(label), endpoint=True)
    else:
        low = max(int(info.min), -9)
        made = numbers.integers(low, 10, shape).astype(numpy_type(label))
    return np.asarray(made)
