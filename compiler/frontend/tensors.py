"""The import of stored tensors as constants, with size checks before allocation."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError, require
from compiler.frontend.wire import Cut, Tokens
from compiler.ir.constant import LITERAL_LIMIT, Bytes, Constant, FileRange, Literal, Splat
from compiler.ir.operator import Array
from compiler.ir.types import DType, TensorType
from compiler.limits import Limits


@dataclass(frozen=True)
class TensorReader:
    """The reader of one model's TensorProtos.

    `path` is the model file, if any; large weights remain in the file.
    """

    data: Any
    path: str | None
    tokens: Tokens
    limits: Limits

    def constant(self, proto: Any, origins: tuple[str, ...] = (), name: str = "") -> Constant:
        """Convert a TensorProto to a constant.

        Errors: E-MODEL-TENSOR, E-MODEL-TYPE, E-MODEL-SIZE, E-MODEL-EXTERNAL; each names the tensor.
        """
        shown = proto.name or name
        try:
            return self._constant(proto, origins)
        except CompileError as e:
            raise CompileError(e.code, f"tensor {shown!r}: {e.message}", hint=e.hint) from None

    def _constant(self, proto: Any, origins: tuple[str, ...]) -> Constant:
        t = self._type(proto)
        if proto.external_data or proto.data_location:
            raise CompileError("E-MODEL-EXTERNAL", "the data are in another file")
        require(not proto.HasField("segment"), "E-MODEL-TENSOR", "segments are not supported")
        if not proto.HasField("raw_data"):
            return _stored(_from_fields(proto, t), t, origins)
        _check_only_raw(proto)
        require(t.dtype is not DType.string, "E-MODEL-TENSOR", "strings cannot be raw bytes")
        raw = proto.raw_data
        cut = self.tokens.cut(raw)
        size = len(raw) if cut is None else cut.end - cut.start
        needed = (t.n_elements * t.dtype.bits + 7) // 8
        require(
            size == needed,
            "E-MODEL-TENSOR",
            f"{t} needs {needed:,} bytes, but the file has {size:,}",
        )
        if cut is not None:
            return self._large(cut, t, origins)
        return _stored(_from_raw(raw, t), t, origins)

    def _type(self, proto: Any) -> TensorType:
        dims, limits = tuple(int(d) for d in proto.dims), self.limits
        require(min(dims, default=0) >= 0, "E-MODEL-TENSOR", f"a size is negative: {list(dims)}")
        limits.check("axes", len(dims), limits.rank)
        limits.check("the size of an axis", max(dims, default=0), limits.dim)
        t = TensorType(DType.from_onnx(proto.data_type), dims)
        limits.check("elements", t.n_elements, limits.tensor_elements)
        return t

    def _large(self, cut: Cut, t: TensorType, origins: tuple[str, ...]) -> Constant:
        n_bytes = cut.end - cut.start
        if self.path is not None and t.dtype.bits >= 8 and t.dtype is not DType.bool:
            return Constant(t, FileRange(self.path, cut.start, n_bytes), origins)
        if t.dtype.bits >= 8 and t.dtype is not DType.bool:
            flat = np.frombuffer(self.data, np.uint8, n_bytes, cut.start)
            return Constant(t, Bytes(flat.view(_little(t.dtype)).reshape(t.static_shape)), origins)
        return _stored(_from_raw(bytes(self.data[cut.start : cut.end]), t), t, origins)

    def sparse(self, proto: Any, origins: tuple[str, ...] = ()) -> Constant:
        """Convert a SparseTensorProto to a dense constant; refuse a large tensor.

        Errors: E-MODEL-TENSOR, E-MODEL-SIZE, E-MODEL-TYPE.
        """
        values = self.constant(proto.values, name="sparse values")
        indices = self.constant(proto.indices, name="sparse indices")
        dims = tuple(int(d) for d in proto.dims)
        fits = bool(dims) and min(dims) >= 0 and values.type.rank == 1
        message = f"a sparse tensor needs axes and a list of values, got the shape {list(dims)}"
        require(fits, "E-MODEL-TENSOR", message)
        t = TensorType(values.type.dtype, dims)
        self.limits.check("axes", len(dims), self.limits.rank)
        self.limits.check("elements of a sparse tensor", t.n_elements, self.limits.dense_elements)
        dense = np.zeros(dims, t.dtype.numpy)
        flat = _flat_places(indices.array(), dims, values.type.n_elements)
        dense.reshape(-1)[flat] = values.array()
        return _stored(dense, t, origins)


def _flat_places(indices: Array, dims: tuple[int, ...], n: int) -> Array:
    """Convert linear indices [n] or coordinates [n, rank] to row-major offsets."""
    linear = indices.ndim == 1
    fits = indices.dtype == np.int64 and indices.shape == ((n,) if linear else (n, len(dims)))
    require(fits, "E-MODEL-TENSOR", f"indices of shape {list(indices.shape)} do not fit {n} values")
    bound = np.array([int(np.prod(dims, dtype=object))] if linear else dims, np.int64)
    inside = bool(((indices >= 0) & (indices < bound)).all())
    require(inside, "E-MODEL-TENSOR", "a sparse index is out of bounds")
    if linear:
        return indices
    strides = np.array([int(np.prod(dims[i + 1 :], dtype=object)) for i in range(len(dims))])
    return (indices * strides).sum(axis=1)


_TYPED_FIELDS = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")


def _check_only_raw(proto: Any) -> None:
    both = any(len(getattr(proto, f)) for f in (*_TYPED_FIELDS, "string_data"))
    require(not both, "E-MODEL-TENSOR", "the elements are stored twice, as bytes and as numbers")


def _field_of(dtype: DType) -> tuple[str, int, int]:
    """Return the TensorProto field for a type, and two numbers (e, n): n elements use e entries."""
    if dtype is DType.string:
        return "string_data", 1, 1
    if dtype in (DType.f32, DType.c64):
        return "float_data", 2 if dtype is DType.c64 else 1, 1
    if dtype in (DType.f64, DType.c128):
        return "double_data", 2 if dtype is DType.c128 else 1, 1
    if dtype is DType.i64:
        return "int64_data", 1, 1
    if dtype in (DType.u32, DType.u64):
        return "uint64_data", 1, 1
    return "int32_data", 1, {4: 2, 2: 4}.get(dtype.bits, 1)


def _from_fields(proto: Any, t: TensorType) -> Array:
    """Read the elements from the field for the tensor's type.

    Errors: E-MODEL-TENSOR for a wrong number of elements, or for elements in a wrong field.
    """
    from onnx import numpy_helper

    name, entries, per = _field_of(t.dtype)
    needed = -(-t.n_elements * entries // per)
    found = len(getattr(proto, name))
    require(
        found == needed,
        "E-MODEL-TENSOR",
        f"{t} needs {needed:,} entries of {name}, but the file has {found:,}",
    )
    others = [f for f in (*_TYPED_FIELDS, "string_data") if f != name and len(getattr(proto, f))]
    require(
        not others, "E-MODEL-TENSOR", f"{t} has elements in the wrong field: {', '.join(others)}"
    )
    if t.dtype is DType.string:
        array = np.empty(found, np.object_)
        array[:] = [_text(v) for v in proto.string_data]
        return array.reshape(t.static_shape)
    try:
        return numpy_helper.to_array(proto).reshape(t.static_shape)
    except (ValueError, TypeError, OverflowError) as e:
        raise CompileError("E-MODEL-TENSOR", f"{t}: {e}") from e


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as e:
        raise CompileError("E-MODEL-TENSOR", "a string element is not UTF-8") from e


def _from_raw(raw: bytes, t: TensorType) -> Array:
    if t.dtype is DType.bool:
        return (np.frombuffer(raw, np.uint8) != 0).reshape(t.static_shape)
    if t.dtype.bits >= 8:
        return np.frombuffer(raw, _little(t.dtype)).reshape(t.static_shape)
    import onnx
    from onnx import numpy_helper

    proto = onnx.TensorProto(data_type=t.dtype.onnx, dims=t.static_shape, raw_data=raw)
    return numpy_helper.to_array(proto).reshape(t.static_shape)


def _little(dtype: DType) -> np.dtype[Any]:
    return dtype.numpy.newbyteorder("<")


def _stored(array: Array, t: TensorType, origins: tuple[str, ...]) -> Constant:
    """Choose the smallest storage: a splat if all elements have the same bits."""
    if array.size <= LITERAL_LIMIT:
        return Constant(t, Literal(np.array(array, t.dtype.numpy)), origins)
    flat = array.reshape(-1)
    if t.dtype is not DType.string and flat[:1].tobytes() == flat[-1:].tobytes():
        rows = np.ascontiguousarray(flat).view(np.uint8).reshape(len(flat), -1)
        if (rows == rows[0]).all():
            return Constant(t, Splat(flat[0]), origins)
    return Constant(t, Bytes(array.astype(t.dtype.numpy, copy=False)), origins)
