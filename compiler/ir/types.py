"""Element types, memory layouts and the types of values."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.affine import Affine, Expr

Dim = Expr
"""A dimension: a number, or an expression over symbols, such as `2*N+1`."""


class DType(enum.Enum):
    """An element type: short name, bits per element, numpy's type (None for storage-only types).

    Source: TensorProto.DataType of ONNX; `onnx` is the number of the type in this enumeration.
    """

    f32 = ("f32", 32, np.float32, 1)
    u8 = ("u8", 8, np.uint8, 2)
    i8 = ("i8", 8, np.int8, 3)
    u16 = ("u16", 16, np.uint16, 4)
    i16 = ("i16", 16, np.int16, 5)
    i32 = ("i32", 32, np.int32, 6)
    i64 = ("i64", 64, np.int64, 7)
    string = ("string", 64, np.object_, 8)
    bool = ("bool", 8, np.bool_, 9)
    f16 = ("f16", 16, np.float16, 10)
    f64 = ("f64", 64, np.float64, 11)
    u32 = ("u32", 32, np.uint32, 12)
    u64 = ("u64", 64, np.uint64, 13)
    c64 = ("c64", 64, np.complex64, 14)
    c128 = ("c128", 128, np.complex128, 15)
    bf16 = ("bf16", 16, ml_dtypes.bfloat16, 16)
    f8e4m3fn = ("f8e4m3fn", 8, ml_dtypes.float8_e4m3fn, 17)
    f8e4m3fnuz = ("f8e4m3fnuz", 8, ml_dtypes.float8_e4m3fnuz, 18)
    f8e5m2 = ("f8e5m2", 8, ml_dtypes.float8_e5m2, 19)
    f8e5m2fnuz = ("f8e5m2fnuz", 8, ml_dtypes.float8_e5m2fnuz, 20)
    u4 = ("u4", 4, ml_dtypes.uint4, 21)
    i4 = ("i4", 4, ml_dtypes.int4, 22)
    f4e2m1 = ("f4e2m1", 4, ml_dtypes.float4_e2m1fn, 23)
    f8e8m0 = ("f8e8m0", 8, ml_dtypes.float8_e8m0fnu, 24)
    u2 = ("u2", 2, ml_dtypes.uint2, 25)
    i2 = ("i2", 2, ml_dtypes.int2, 26)
    f6e2m3 = ("f6e2m3", 6, ml_dtypes.float6_e2m3fn, 27)
    f6e3m2 = ("f6e3m2", 6, ml_dtypes.float6_e3m2fn, 28)

    def __init__(self, label: str, bits: int, numpy: Any, onnx: int) -> None:
        self.label = label
        self.bits = bits
        self.numpy = np.dtype(numpy)
        self.onnx = onnx
        self.nbytes = max(bits // 8, 1)
        """Bytes of one element in memory; an element of a sub-byte type takes one byte."""
        self.is_float = label.startswith(("f", "bf"))
        """Whether values are real numbers with rounding."""
        self.is_integer = label[0] in "iu"
        """Whether values are integers (bool excluded)."""
        self.is_storage = (self.is_float and bits <= 8) or (self.is_integer and bits < 8)
        """Whether this type is storage-only, so that arithmetic uses the type `wide`."""

    @property
    def wide(self) -> DType:
        """The element type for arithmetic: f32 for short floats, a byte for short integers."""
        if self.is_float:
            return DType.f32 if self.bits < 32 else self
        if self.is_integer and self.bits < 8:
            return DType.i8 if self.label[0] == "i" else DType.u8
        return self

    def __str__(self) -> str:
        return self.label

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(self.label, spec)

    @staticmethod
    def from_onnx(number: int) -> DType:
        """Return the element type that a TensorProto.DataType number denotes.

        Errors: E-MODEL-TYPE.
        """
        if number not in _BY_ONNX:
            raise CompileError("E-MODEL-TYPE", f"element type number {number} is unknown")
        return _BY_ONNX[number]

    @staticmethod
    def from_numpy(dtype: Any) -> DType:
        """Return the element type of a numpy dtype. Errors: E-MODEL-TYPE."""
        found = _BY_NUMPY.get(np.dtype(dtype))
        if found is None:
            if np.dtype(dtype).kind in "UST":
                return DType.string
            raise CompileError("E-MODEL-TYPE", f"numpy type {dtype} has no element type")
        return found

    @staticmethod
    def parse(label: str) -> DType:
        """Return the element type of this short name. Errors: E-TEXT-SYNTAX."""
        if label not in DType.__members__:
            raise CompileError("E-TEXT-SYNTAX", f"needed an element type, got {label[:40]!r}")
        return DType[label]


_BY_ONNX = {d.onnx: d for d in DType}
_BY_NUMPY = {d.numpy: d for d in DType}


@dataclass(frozen=True, slots=True)
class Layout:
    """The memory layout of a tensor: blocked channels, and a halo around images.

    `block` > 1 stores `[N, ceil(C/block), spatial..., block]` (oneDNN's nChw16c). `halo` is the
    number of padding elements on each side of each spatial axis. A convolution reads these padding
    elements instead of testing bounds. The padding elements have the value `around`: 0, or the zero
    point of quantized elements. A memory layout does not change logical shapes and values.
    Source: NCHWc blocking, Liu et al. 2019 (NeoCPU), arXiv:1809.02697.
    """

    block: int = 1
    halo: tuple[int, ...] = ()
    around: int = 0

    def __post_init__(self) -> None:
        if not any(self.halo):
            object.__setattr__(self, "halo", ())
            object.__setattr__(self, "around", 0)

    @property
    def is_plain(self) -> bool:
        """Whether the layout is row-major without gaps."""
        return self.block == 1 and not self.halo

    def halo_of(self, rank: int) -> tuple[int, ...]:
        """Return the halo of each spatial axis of a tensor of this rank."""
        return self.halo or (0,) * max(rank - 2, 0)

    def physical_shape(self, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """Return the row-major shape in memory for a logical shape."""
        if self.is_plain:
            return shape
        n, c, *spatial = shape
        inner = [s + 2 * h for s, h in zip(spatial, self.halo_of(len(shape)), strict=True)]
        if self.block == 1:
            return (n, c, *inner)
        return (n, -(-c // self.block), *inner, self.block)

    def physical_index(self, index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return the index in memory for a logical index."""
        if self.is_plain:
            return index
        n, c, *spatial = index
        inner = [s + h for s, h in zip(spatial, self.halo_of(len(index)), strict=True)]
        if self.block == 1:
            return (n, c, *inner)
        return (n, affine.floordiv(c, self.block), *inner, affine.mod(c, self.block))

    def __str__(self) -> str:
        words = [f"c{self.block}"] if self.block > 1 else []
        if self.halo:
            words.append("halo=" + "x".join(map(str, self.halo)))
        if self.around:
            words.append(f"around={self.around}")
        return "{" + ",".join(words) + "}" if words else ""


PLAIN = Layout()


@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor: element type, shape (None for an open rank) and memory layout."""

    dtype: DType
    shape: tuple[Dim, ...] | None
    layout: Layout = PLAIN

    @property
    def rank(self) -> int:
        """The number of axes; the rank must be known."""
        return len(self.dims)

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The shape; the rank must be known. Errors: E-SHAPE-OPEN."""
        if self.shape is None:
            raise CompileError("E-SHAPE-OPEN", "the rank of a tensor is unknown at compile time")
        return self.shape

    @property
    def is_static(self) -> bool:
        """Whether every dimension is a number."""
        return self.shape is not None and all(isinstance(d, int) for d in self.shape)

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The shape as numbers. Errors: E-SHAPE-OPEN if a dimension is symbolic."""
        if not self.is_static:
            raise CompileError("E-SHAPE-OPEN", f"the shape of {self} has open dimensions")
        return tuple(int(d) for d in self.dims)

    @property
    def is_ranked(self) -> bool:
        """Whether the number of axes is known; sizes may still be open."""
        return self.shape is not None

    @property
    def n_elements(self) -> int:
        """The number of logical elements; the shape must be static."""
        total = 1
        for d in self.static_shape:
            total *= d
        return total

    @property
    def size(self) -> Expr:
        """The number of logical elements, which may be an expression; the rank must be known."""
        return affine.product(self.dims)

    @property
    def assumed(self) -> TensorType:
        """The type with assumed numbers in place of open sizes, for decisions at compile time.

        The rank of the tensor must be known.
        """
        return replace(self, shape=tuple(map(affine.assumed_size, self.dims)))

    @property
    def nbytes(self) -> int:
        """Bytes in memory, with the layout's padding; the shape must be static."""
        physical = self.layout.physical_shape(self.static_shape)
        return self.dtype.nbytes * int(affine.product(physical))

    def with_layout(self, layout: Layout) -> TensorType:
        """Return the type in another layout."""
        return self if layout is self.layout else replace(self, layout=layout)

    @property
    def logical(self) -> TensorType:
        """The type without its memory layout, as type rules see it."""
        return self if self.layout.is_plain else replace(self, layout=PLAIN)

    def __str__(self) -> str:
        inside = "..." if self.shape is None else ",".join(map(str, self.shape))
        return f"{self.dtype}[{inside}]{self.layout}"


@dataclass(frozen=True, slots=True)
class SequenceType:
    """A list of values of one type."""

    element: Type

    def __str__(self) -> str:
        return f"seq({self.element})"


@dataclass(frozen=True, slots=True)
class OptionalType:
    """A value that may be absent."""

    element: Type

    def __str__(self) -> str:
        return f"optional({self.element})"


@dataclass(frozen=True, slots=True)
class MapType:
    """A dictionary from keys of one element type to values of one type."""

    key: DType
    value: Type

    def __str__(self) -> str:
        return f"map({self.key},{self.value})"


@dataclass(frozen=True, slots=True)
class OpaqueType:
    """A value of unknown type."""

    def __str__(self) -> str:
        return "opaque"


Type = TensorType | SequenceType | OptionalType | MapType | OpaqueType


def logical(t: Type) -> Type:
    """Return the type without its memory layout."""
    return t.logical if isinstance(t, TensorType) else t


def tensor(text: str) -> TensorType:
    """Parse a tensor type, as in `tensor("f32[2,N]")`."""
    t = parse_type(text)
    assert isinstance(t, TensorType), f"{text} is not a tensor type"
    return t


_TENSOR = re.compile(r"(\w+)\[([^\]]*)\](?:\{([^}]*)\})?\Z")


def parse_type(text: str) -> Type:
    """Parse the output of `str`. Errors: E-TEXT-SYNTAX."""
    text = text.strip()
    if text == "opaque":
        return OpaqueType()
    for word, make in (("seq", SequenceType), ("optional", OptionalType)):
        if text.startswith(word + "(") and text.endswith(")"):
            return make(parse_type(text[len(word) + 1 : -1]))
    if text.startswith("map(") and text.endswith(")"):
        key, _, value = text[4:-1].partition(",")
        return MapType(DType.parse(key.strip()), parse_type(value))
    match = _TENSOR.match(text)
    if match is None:
        raise CompileError("E-TEXT-SYNTAX", f"needed a type such as f32[2,3], got {text[:60]!r}")
    dtype, inside, layout = match.groups()
    if inside.strip() == "...":
        return TensorType(DType.parse(dtype), None)
    dims = tuple(affine.parse(d) for d in split_top(inside)) if inside.strip() else ()
    return TensorType(DType.parse(dtype), dims, _parse_layout(layout or ""))


def _parse_layout(text: str) -> Layout:
    block, halo, around = 1, (), 0
    for word in filter(None, (w.strip() for w in text.split(","))):
        if re.fullmatch(r"c\d+", word):
            block = int(word[1:])
        elif re.fullmatch(r"halo=\d+(x\d+)*", word):
            halo = tuple(int(h) for h in word[5:].split("x"))
        elif re.fullmatch(r"around=-?\d+", word):
            around = int(word[7:])
        else:
            raise CompileError(
                "E-TEXT-SYNTAX", f"needed a layout such as c16 or halo=1x1, got {word!r}"
            )
    return Layout(block, halo, around)


def split_top(text: str, separator: str = ",") -> list[str]:
    """Split at separators outside brackets and quotes."""
    parts, depth, start, quoted, i = [], 0, 0, False, 0
    while i < len(text):
        ch = text[i]
        if quoted:
            if ch == "\\":
                i += 1
            elif ch == '"':
                quoted = False
        elif ch == '"':
            quoted = True
        elif ch in "([{":
            depth += 1
        elif ch in ")]}":
            depth -= 1
        elif ch == separator and depth == 0:
            parts.append(text[start:i])
            start = i + 1
        i += 1
    parts.append(text[start:])
    return parts


def substitute(t: Type, values: Mapping[str, Expr]) -> Type:
    """Substitute symbols in the dimensions of a type."""
    if isinstance(t, TensorType) and t.shape is not None:
        return replace(t, shape=tuple(affine.substitute(d, values) for d in t.shape))
    if isinstance(t, SequenceType | OptionalType):
        return type(t)(substitute(t.element, values))
    return t


def replace_atoms(t: Type, values: Mapping[affine.Atom, Expr]) -> Type:
    """Replace atoms in the dimensions of a type; a compound atom is replaced as a unit."""
    if isinstance(t, TensorType) and t.shape is not None:
        return replace(t, shape=tuple(affine.replace_atoms(d, values) for d in t.shape))
    return t


def open_symbols(types: Iterable[Type]) -> frozenset[str]:
    """Return the symbols in the dimensions of types."""
    found: frozenset[str] = frozenset()
    for t in types:
        if isinstance(t, TensorType) and t.shape is not None:
            for d in t.shape:
                if isinstance(d, Affine):
                    found |= affine.symbols(d)
    return found
