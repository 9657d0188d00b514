"""The import of declared types, and of the names of open sizes."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from compiler.errors import require
from compiler.ir.affine import Affine, identifier, symbol, symbols
from compiler.ir.types import Dim, OpaqueType, SequenceType, TensorType, Type
from compiler.limits import Limits
from compiler.ops import protos
from compiler.ops.type_rules.implied_sizes import Implied


class DimNames:
    """The sizes of a model: numbers, names, or unknown.

    A size name that occurs in an input means the same size everywhere in the model. Size names that
    occur in no input are unreliable: TorchScript gives all results of SequenceAt the same three
    names. Two equal unreliable names mean equal sizes only if they are in the type of one value. A
    size without a name gets a unique name from the value and the axis.
    """

    def __init__(
        self, limits: Limits, apart: bool = False, sizes: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        """With `apart`, each size becomes a separate symbol, regardless of its name.

        `sizes` maps some symbols to numbers.
        """
        self._limits, self._apart, self._sizes = limits, apart, sizes
        self._words: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()
        self.declared: set[str] = set()
        """The open sizes of the graph's inputs: the caller determines their values."""
        self.shared: set[str] = set()
        """The symbols that occur more than once among the sizes of the inputs."""

    def reader(self, base: str, *, is_input: bool = False) -> protos.DimReader:
        """Return a function that reads the sizes of a value's declared shape.

        Errors: E-MODEL-SIZE.
        """
        return lambda dim, position: self._read(dim, base, position, is_input)

    def _read(self, dim: Any, base: str, position: int, is_input: bool) -> Dim:
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            self._limits.check("the size of an axis", dim.dim_value, self._limits.dim)
            return int(dim.dim_value)
        name = dim.dim_param if dim.HasField("dim_param") else ""
        # "?", "-1" etc. mean no name.
        if not re.search(r"[^\W\d_]", name, re.ASCII) or name == "None":
            return self._size(self._fresh(f"{identifier(base)}_d{position}"))
        if self._apart:
            return symbol(self._fresh(identifier(name)))
        if is_input and ("", name) in self._words:
            self.shared.add(self._words["", name])
        is_shared = is_input or ("", name) in self._words
        key = ("" if is_shared else base, name)
        if key not in self._words:
            self._words[key] = self._fresh(identifier(name))
        return self._size(self._words[key])

    def _size(self, word: str) -> Dim:
        return self._sizes[word] if word in self._sizes else symbol(word)

    def decided(self, implied: Implied) -> dict[str, int]:
        """Return the input sizes that operators determine.

        A name that occurs in several input sizes stays open: runtimes do not require these sizes to
        be equal.
        """
        names = implied.keys() & self.declared - self.shared
        return {name: min(implied[name]) for name in sorted(names) if len(implied[name]) == 1}

    def _fresh(self, word: str) -> str:
        word = f"{word}_" if keyword.iskeyword(word) else word
        name, i = word, 1
        while name in self._taken:
            i += 1
            name = f"{word}_{i}"
        self._taken.add(name)
        return name

    def type(self, proto: Any, base: str, *, is_input: bool = False) -> Type:
        """Convert a declared type. Errors: E-MODEL-TYPE, E-MODEL-SIZE."""
        depth = protos.type_depth(proto, self._limits.nested_types)
        self._limits.check("nested types", depth, self._limits.nested_types)
        t = protos.from_type_proto(proto, self.reader(base, is_input=is_input))
        if isinstance(t, TensorType) and t.shape is not None:
            self._limits.check("axes", len(t.shape), self._limits.rank)
        return t

    def input_type(self, proto: Any, base: str) -> Type:
        """Convert the declared type of a graph input, and record its open sizes in `declared`."""
        require(bool(proto.WhichOneof("value")), "E-MODEL-TYPE", f"the input {base!r} has no type")
        if proto.WhichOneof("value") == "tensor_type":
            stated = proto.tensor_type.elem_type != 0
            require(stated, "E-MODEL-TYPE", f"the input {base!r} has no element type")
        t = self.type(proto, base, is_input=True)
        if isinstance(t, TensorType):
            for d in t.shape or ():
                if isinstance(d, Affine):
                    self.declared.add(str(d))
            n, most = len(self.declared), self._limits.n_symbols
            self._limits.check("open sizes of inputs", n, most)
        return t

    def depends_on_inputs(self, size: Dim) -> bool:
        """Return whether a size depends on open sizes of the graph's inputs."""
        return bool(symbols(size) & self.declared)

    def may_vary(self, size: Dim) -> bool:
        """Return whether a size may depend on open sizes of the graph's inputs.

        The inference of foreign operators does not relate unknown sizes to those of inputs.
        """
        return isinstance(size, Affine) and bool(self.declared)

    def with_varying_sizes(self, stated: TensorType, actual: Type | None) -> TensorType:
        """Replace the recorded sizes of a region's input by the operand's sizes, if these may vary.

        The model file records the sizes for one set of inputs.
        """
        if not isinstance(actual, TensorType) or None in (stated.shape, actual.shape):
            return stated
        if stated.rank != actual.rank:
            return stated
        pairs = zip(stated.shape or (), actual.shape or (), strict=True)
        dims = tuple(b if isinstance(a, int) and self.may_vary(b) else a for a, b in pairs)
        return TensorType(stated.dtype, dims)


def refined(ours: Type, proto: Any, dims: DimNames, base: str) -> Type:
    """Refine the open parts of an inferred type by the type that the model records.

    Sizes that depend on input sizes stay unchanged: the recorded sizes may be for other inputs.
    """
    if isinstance(ours, OpaqueType):
        return dims.type(proto, base)
    if isinstance(ours, SequenceType) and isinstance(ours.element, OpaqueType):
        stated = dims.type(proto, base)
        return stated if isinstance(stated, SequenceType) else ours
    if not isinstance(ours, TensorType) or proto.WhichOneof("value") != "tensor_type":
        return ours
    stated = dims.type(proto, base)
    if not isinstance(stated, TensorType) or stated.shape is None:
        return ours
    if ours.shape is None:
        return replace(ours, shape=stated.shape)
    if len(stated.shape) != len(ours.shape):
        return ours
    shape = tuple(_closed(a, b, dims) for a, b in zip(ours.shape, stated.shape, strict=True))
    return replace(ours, shape=shape)


def _closed(ours: Dim, stated: Dim, dims: DimNames) -> Dim:
    if isinstance(ours, int) or not isinstance(stated, int):
        return ours
    return ours if dims.depends_on_inputs(ours) else stated
