"""Constant tensors with lazy storage: large constants take no memory until they are read.

A splat of 400 MB stores one number; a weight refers to the model's memory or file.
`Constant.array()` returns a view if the storage allows a view.
"""

from __future__ import annotations

import hashlib
import json
import weakref
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.types import DType, TensorType

LITERAL_LIMIT = 16
"""The maximum number of elements of a constant that is printed in full."""

SAMPLE_BYTES = 256
"""The number of sampled bytes, which suffices to distinguish most arrays."""

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Splat:
    """A constant of equal elements (a numpy scalar of the constant's type).

    Splats compare by bits: NaN equals itself, and 0.0 differs from -0.0.
    """

    value: Any

    def read(self, t: TensorType) -> Array:
        """Return a view of one element, with all strides 0.

        Errors: E-RUN-MEMORY for more bytes than numpy supports.
        """
        if t.nbytes >= 1 << 63:
            raise CompileError("E-RUN-MEMORY", f"a constant of {t} would have {t.nbytes:,} bytes")
        return np.broadcast_to(np.asarray(self.value, t.dtype.numpy), t.static_shape)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Splat):
            return False
        a, b = np.asarray(self.value), np.asarray(other.value)
        return a.dtype == b.dtype and bytes(_content(a)) == bytes(_content(b))

    def __hash__(self) -> int:
        return hash(bytes(_content(np.asarray(self.value))))


@dataclass(frozen=True)
class Seeded:
    """Normally distributed weights of written models, with mean 0, a standard deviation and a seed.

    The numbers are generated when they are first read; the text form determines all of them.
    """

    seed: int
    deviation: float

    def read(self, t: TensorType) -> Array:
        """Return the random numbers, which the type and the seed determine."""
        drawn = self._drawn
        if t not in drawn:
            chance = np.random.default_rng(self.seed)
            numbers = chance.standard_normal(t.static_shape, np.float32)
            drawn[t] = (numbers * np.float32(self.deviation)).astype(t.dtype.numpy)
        return drawn[t]

    @cached_property
    def _drawn(self) -> dict[TensorType, Array]:
        return {}


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A small array, printed in the text form."""

    values: Array

    def read(self, t: TensorType) -> Array:
        """Return the array."""
        return self.values

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Literal)
            and self.values.dtype == other.values.dtype
            and self.values.shape == other.values.shape
            and _content(self.values) == _content(other.values)
        )

    def __hash__(self) -> int:
        return hash(self.values.shape)


@dataclass(frozen=True, eq=False)
class Bytes:
    """An array in memory; the text form refers to it by digest."""

    values: Array

    @cached_property
    def digest(self) -> str:
        """A short content hash; the text form uses it to find the bytes in this process."""
        digest = hashlib.blake2b(_content(self.values), digest_size=12).hexdigest()
        _loaded[f"blob:{digest}"] = self
        return digest

    def read(self, t: TensorType) -> Array:
        """Return the array, reinterpreted if the text form states another type for the bytes."""
        dtype = t.dtype.numpy
        if (self.values.shape, self.values.dtype) == (t.shape, dtype):
            return self.values
        flat = np.ascontiguousarray(self.values).reshape(-1)
        return (flat if flat.dtype == dtype else flat.view(dtype)).reshape(t.static_shape)

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Bytes):
            return self is other
        return self._sample == other._sample and _equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash(self._sample)

    @cached_property
    def _sample(self) -> tuple[int, bytes]:
        """Return the number of bytes and a sample of the bytes, for a fast test of inequality."""
        content = np.frombuffer(_content(self.values), np.uint8)
        step = max(content.size // SAMPLE_BYTES, 1) | 1  # odd, to sample every byte position
        return content.size, content[::step].tobytes()


@dataclass(frozen=True, weakref_slot=True, slots=True)
class FileRange:
    """A byte range of the model file, memory-mapped when it is read; little-endian, row-major.

    Units: offset and nbytes in bytes. Only an importer creates a range; the text form refers to
    loaded ranges.
    """

    path: str
    offset: int
    nbytes: int

    def read(self, t: TensorType) -> Array:
        """Map the file read-only. Errors: E-MODEL-FILE for a missing or truncated file."""
        try:
            flat = np.memmap(self.path, np.uint8, "r", self.offset, (self.nbytes,))
        except (OSError, ValueError) as e:
            raise CompileError("E-MODEL-FILE", f"weights in {Path(self.path).name}: {e}") from e
        return flat.view(t.dtype.numpy.newbyteorder("<")).reshape(t.static_shape)

    def label(self) -> str:
        """Return the text form of the range, and register the range for the parser."""
        key = f"{Path(self.path).name}:{self.offset}+{self.nbytes}"
        _loaded[f"file:{key}"] = self
        return key


def _content(values: Array) -> bytes | memoryview:
    """Return the bytes to compare; strings are encoded because object arrays hold addresses."""
    if values.dtype == np.object_:
        return json.dumps([str(v) for v in values.reshape(-1)]).encode()
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8).data


def _equal(a: Array, b: Array) -> bool:
    """Return whether two arrays have the same content."""
    x, y = np.frombuffer(_content(a), np.uint8), np.frombuffer(_content(b), np.uint8)
    return bool(np.array_equal(x, y))


Storage = Splat | Seeded | Literal | Bytes | FileRange

_loaded: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()


def loaded_storage(kind: str, key: str) -> Storage:
    """Return the storage that this process registered under this key when it printed a text.

    Errors: E-TEXT-STORAGE.
    """
    found = _loaded.get(f"{kind}:{key}")
    if found is None:
        raise CompileError("E-TEXT-STORAGE", f"{kind} {key[:80]!r} is not loaded in this process")
    return found


@dataclass(frozen=True, slots=True)
class Constant:
    """A tensor known at compile time: its type, its storage, and the ONNX nodes of its origin."""

    type: TensorType
    storage: Storage
    origins: tuple[str, ...] = field(default=())

    def array(self) -> Array:
        """Return the elements, as a read-only view if the storage allows it."""
        return self.storage.read(self.type)

    @property
    def is_splat(self) -> bool:
        """Whether all elements are equal by construction."""
        return isinstance(self.storage, Splat)

    @property
    def stored_bytes(self) -> int:
        """The bytes in memory: one element for a splat, none for a file range or a seed."""
        match self.storage:
            case Splat():
                return self.type.dtype.nbytes
            case FileRange() | Seeded():
                return 0
            case Literal(values) | Bytes(values):
                return values.nbytes

    def with_origins(self, origins: tuple[str, ...]) -> Constant:
        """Return the constant with other origins."""
        return replace(self, origins=origins)

    @staticmethod
    def of(values: Any, dtype: DType | None = None, origins: tuple[str, ...] = ()) -> Constant:
        """Create a constant in the smallest storage that is found without scanning the elements.

        An array whose strides are all 0 (numpy's broadcast of one element) becomes a splat.
        """
        array = np.asarray(values, dtype.numpy if dtype else None)
        dtype = dtype or DType.from_numpy(array.dtype)
        if array.dtype != dtype.numpy:
            array = array.astype(dtype.numpy)
        t = TensorType(dtype, array.shape)
        if array.size > 1 and not any(
            s for s, d in zip(array.strides, array.shape, strict=True) if d > 1
        ):
            return Constant(t, Splat(array.reshape(-1)[0]), origins)
        if array.size <= LITERAL_LIMIT:
            return Constant(t, Literal(np.ascontiguousarray(array).reshape(array.shape)), origins)
        return Constant(t, Bytes(array), origins)

    @staticmethod
    def splat(value: Any, t: TensorType, origins: tuple[str, ...] = ()) -> Constant:
        """Create a constant of type t whose elements are all `value`."""
        return Constant(t, Splat(np.asarray(value).astype(t.dtype.numpy)[()]), origins)
