"""Reads and writes arrays as `.npy` files; an untrusted file can neither run code nor use more
memory than its own size."""

from __future__ import annotations

import math
import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from compiler.errors import CompileError
from compiler.ir.types import DType, TensorType, Type

_HEADER_BYTES = 4096
_MOST_AXES = 32
_KINDS = "biufcU"
"""Kinds of element types in files: booleans, integers, floats, complex numbers, texts."""


def read_array(path: Path, name: str) -> Any:
    """Read the `.npy` file of the input `name`. Errors: E-INPUT-FILE.

    The file may contain only numbers, booleans or texts, never pickled objects. The size of the
    data must match the shape and the type in the header.
    """
    with path.open("rb") as file:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                shape, in_columns, dtype = _header(file)
        except (ValueError, UserWarning, MemoryError, RecursionError, OverflowError) as e:
            raise _refused(name, _first_line(e)) from None
        if dtype.hasobject or dtype.names or dtype.subdtype or dtype.kind not in _KINDS:
            hint = "save an array of numbers, booleans or texts"
            raise _refused(name, f"elements of type {dtype!s:.60} are not accepted", hint)
        if len(shape) > _MOST_AXES or any(d < 0 for d in shape):
            raise _refused(name, f"the shape {shape!s:.80} is not valid for an array")
        expected = math.prod(shape) * dtype.itemsize
        found = path.stat().st_size - file.tell()
        if expected != found:
            said = f"the header declares {expected:,} bytes of elements, the file has {found:,}"
            raise _refused(name, said)
        data = file.read()
    order = "F" if in_columns else "C"
    try:
        flat = np.frombuffer(data, dtype) if data else np.empty(0, dtype)
        return flat.reshape(shape, order=order).astype(dtype.newbyteorder("="))
    except ValueError as e:
        raise _refused(name, _first_line(e)) from None


def _header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(file)
    read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
    if read is None:
        raise ValueError(f"version {version[0]}.{version[1]} of the format is not supported")
    return read(file, max_header_size=_HEADER_BYTES)


def _first_line(e: BaseException) -> str:
    return (str(e).splitlines() or [type(e).__name__])[0][:200]


def _refused(name: str, cause: str, hint: str = "") -> CompileError:
    return CompileError(
        "E-INPUT-FILE",
        f"the file of the input {name!r:.80} is not a usable .npy file: {cause}",
        hint=hint,
    )


def as_input(array: Any, name: str, t: Type) -> Any:
    """Convert an array to the element type of an input, if this changes no integer.

    Floats become floats of another width, and integers become integers or floats.
    Errors: E-INPUT-DTYPE.
    """
    if not isinstance(t, TensorType):
        hint = "run the model with random values for this input, or from Python"
        raise CompileError("E-INPUT-DTYPE", f"{name!r} is {t}, a file has one array", hint=hint)
    if t.dtype is DType.string:
        if array.dtype.kind == "U":
            return array.astype(object)
    elif array.dtype == t.dtype.numpy:
        return array
    elif (t.dtype.is_float and array.dtype.kind in "fiu") or _fits(array, t.dtype):
        with np.errstate(over="ignore"):
            return array.astype(t.dtype.numpy)
    raise CompileError(
        "E-INPUT-DTYPE",
        f"{name!r} has elements of type {t.dtype}, the file has {array.dtype}",
        hint="convert the array with array.astype(...) and save it again",
    )


def _fits(array: Any, dtype: DType) -> bool:
    """Return whether all elements of an array are integers that the type can represent."""
    if not dtype.is_integer or array.dtype.kind not in "iu":
        return False
    low = -(2 ** (dtype.bits - 1)) if dtype.label[0] == "i" else 0
    high = 2 ** (dtype.bits - (dtype.label[0] == "i")) - 1
    return array.size == 0 or (low <= int(array.min()) and int(array.max()) <= high)


def npy_bytes(array: Any) -> bytes:
    """Return an array as a `.npy` file; elements that numpy lacks, such as bf16, become f32."""
    if array.dtype.kind == "O":
        array = array.astype(str)
    elif array.dtype.isbuiltin != 1:
        array = array.astype(np.float32)
    file = BytesIO()
    npy.write_array(file, np.asarray(array), allow_pickle=False)
    return file.getvalue()
