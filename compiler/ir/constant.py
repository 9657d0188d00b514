"""Constant tensors that know how they are stored, so that big ones cost nothing until needed.

A splat of 400 MB is one number; a stored weight is the model's own memory or a range of its file.
`Constant.array()` is a view wherever it can be.
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
"""Constants of at most this many elements are printed in full."""

SAMPLE_BYTES = 256
"""About so many bytes of an array tell it from most others."""

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Splat:
    """Every element is this one number (a numpy scalar of the constant's type).

    Equal are splats of the same bits: a NaN is itself, and the two zeros are different numbers.
    """

    value: Any

    def read(self, t: TensorType) -> Array:
        """A view without memory of its own (all strides are 0).

        Errors: E-RUN-MEMORY for more bytes than numpy can count.
        """
        if t.nbytes >= 1 << 63:
            raise CompileError("E-RUN-MEMORY", f"a constant of {t} has {t.nbytes:,} bytes")
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
    """Normal numbers around 0 with this deviation, drawn from a seed: weights of written models.

    Drawn when first read; the text form says them whole, however many there are.
    """

    seed: int
    deviation: float

    def read(self, t: TensorType) -> Array:
        """The numbers; the same ones for the same type wherever they are drawn."""
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
        """The array itself."""
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
    """An array in memory; the text form names it by digest."""

    values: Array

    @cached_property
    def digest(self) -> str:
        """Short content hash, by which the text form finds the bytes again in this process."""
        digest = hashlib.blake2b(_content(self.values), digest_size=12).hexdigest()
        _loaded[f"blob:{digest}"] = self
        return digest

    def read(self, t: TensorType) -> Array:
        """The array itself, or its bytes as a tensor of another type: text finds it by content."""
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
        """How many bytes there are, and some of them: what differs mostly differs here."""
        content = np.frombuffer(_content(self.values), np.uint8)
        step = max(content.size // SAMPLE_BYTES, 1) | 1  # odd, to meet each byte of an element
        return content.size, content[::step].tobytes()


@dataclass(frozen=True, weakref_slot=True, slots=True)
class FileRange:
    """Bytes of the model file itself, mapped when read; little-endian, row-major.

    Units: offset and nbytes in bytes. Only an importer makes one; text can only name loaded ones.
    """

    path: str
    offset: int
    nbytes: int

    def read(self, t: TensorType) -> Array:
        """A read-only map of the file. Errors: E-MODEL-FILE when it has gone or shrunk."""
        try:
            flat = np.memmap(self.path, np.uint8, "r", self.offset, (self.nbytes,))
        except (OSError, ValueError) as e:
            raise CompileError("E-MODEL-FILE", f"weights in {Path(self.path).name}: {e}") from e
        return flat.view(t.dtype.numpy.newbyteorder("<")).reshape(t.static_shape)

    def label(self) -> str:
        """What the text form prints; registers the range so that parsing finds it."""
        key = f"{Path(self.path).name}:{self.offset}+{self.nbytes}"
        _loaded[f"file:{key}"] = self
        return key


def _content(values: Array) -> bytes | memoryview:
    """What decides whether two arrays are equal; strings are objects, whose bytes are addresses."""
    if values.dtype == np.object_:
        return json.dumps([str(v) for v in values.reshape(-1)]).encode()
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8).data


def _equal(a: Array, b: Array) -> bool:
    """Whether two arrays have the same bytes in order."""
    x, y = np.frombuffer(_content(a), np.uint8), np.frombuffer(_content(b), np.uint8)
    return bool(np.array_equal(x, y))


Storage = Splat | Seeded | Literal | Bytes | FileRange

_loaded: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()


def loaded_storage(kind: str, key: str) -> Storage:
    """The storage that was printed under this key in this process. Errors: E-TEXT-STORAGE."""
    found = _loaded.get(f"{kind}:{key}")
    if found is None:
        raise CompileError("E-TEXT-STORAGE", f"{kind} {key[:80]!r} is not loaded in this process")
    return found


@dataclass(frozen=True, slots=True)
class Constant:
    """A tensor known at compile time: type, storage, and the ONNX nodes it came from."""

    type: TensorType
    storage: Storage
    origins: tuple[str, ...] = field(default=())

    def array(self) -> Array:
        """The elements, as a view where the storage allows it; never write to it."""
        return self.storage.read(self.type)

    @property
    def is_splat(self) -> bool:
        """Whether every element is the same by construction."""
        return isinstance(self.storage, Splat)

    @property
    def stored_bytes(self) -> int:
        """Bytes that the storage itself holds: one element of a splat, none of a file or seed."""
        match self.storage:
            case Splat():
                return self.type.dtype.nbytes
            case FileRange() | Seeded():
                return 0
            case Literal(values) | Bytes(values):
                return values.nbytes

    def with_origins(self, origins: tuple[str, ...]) -> Constant:
        """The same constant, from other nodes."""
        return replace(self, origins=origins)

    @staticmethod
    def of(values: Any, dtype: DType | None = None, origins: tuple[str, ...] = ()) -> Constant:
        """The constant with these elements, in the cheapest storage that can be told at a glance.

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
        """A constant of type t whose elements are all `value`."""
        return Constant(t, Splat(np.asarray(value).astype(t.dtype.numpy)[()]), origins)
