"""The scope of an exported graph or function: nodes, stored tensors and names of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.export.names import Names
from compiler.ir.constant import Constant
from compiler.ir.operator import Array
from compiler.ir.types import TensorType, Type
from compiler.ops import protos

LARGE_SPLAT_BYTES = 1 << 20
"""The minimum size of a splat that is computed at run time instead of stored. Units: bytes."""


@dataclass
class Model:
    """The shared state of all graphs of one exported model."""

    names: Names
    opset: int
    fused: bool = False
    node_names: Names = field(default_factory=Names)
    domains: dict[str, int] = field(default_factory=dict)
    """The versions of the used operator sets, except the standard operator set."""
    functions: dict[bytes, Any] = field(default_factory=dict)
    """The FunctionProtos of fusions, by content: equal fusions share a function."""
    stored_bytes: int = 0


@dataclass
class Scope:
    """One graph during export; subgraphs look up values in enclosing graphs.

    A constant is stored at its first read, so an unread constant is not stored.
    """

    model: Model
    around: Scope | None = None
    in_function: bool = False
    nodes: list[Any] = field(default_factory=list)
    stored: list[Any] = field(default_factory=list)
    types: dict[str, Type] = field(default_factory=dict)
    """The types of values, keyed by the exported names of the values."""
    written: dict[tuple[Any, ...], tuple[str, ...]] = field(default_factory=dict)
    """The outputs of exported nodes, keyed by their computation (operator, inputs, attributes)."""
    _written: dict[str, str] = field(default_factory=dict)
    _constants: dict[str, Constant] = field(default_factory=dict)
    _literals: dict[tuple[Any, ...], str] = field(default_factory=dict)

    def inner(self) -> Scope:
        """Return a scope for an inlined body: the same graph, but separate value names."""
        return Scope(
            self.model,
            self,
            self.in_function,
            self.nodes,
            self.stored,
            self.types,
            self.written,
        )

    def define(self, value: str, written: str, t: Type, constant: Constant | None = None) -> None:
        """Define the exported name of a value, and its elements if constant."""
        self._written[value] = written
        self.types[written] = t
        if constant is not None:
            self._constants[value] = constant

    def constants(self, constants: Mapping[str, Constant]) -> None:
        """Declare constants, which are stored when they are first read."""
        self._constants.update(constants)

    def value(self, name: str) -> str:
        """Return the exported name of a value; "" if omitted."""
        if not name:
            return ""
        found = self._written.get(name)
        if found is not None:
            return found
        c = self._constants.get(name)
        if c is not None:
            self.define(name, self.store(c, name), c.type)
            return self._written[name]
        assert self.around is not None, f"{name!r} is not a value of the graph"
        return self.around.value(name)

    def identity(self, name: str) -> Any:
        """Return the identity of a value: its exported name, or a constant's elements."""
        if not name:
            return ""
        if name in self._written:
            return self._written[name]
        if name in self._constants:
            c = self._constants[name]
            return (c.type, c.storage)
        assert self.around is not None, f"{name!r} is not a value of the graph"
        return self.around.identity(name)

    def constant(self, name: str) -> Constant | None:
        """Return the constant of this name, here or in an enclosing graph."""
        if name in self._constants:
            return self._constants[name]
        if name in self._written or self.around is None:
            return None
        return self.around.constant(name)

    def type_of(self, written: str) -> Type | None:
        """Return the type of a value by its exported name; None if unknown."""
        found = self.types.get(written)
        if found is None and self.around is not None:
            return self.around.type_of(written)
        return found

    def type_around(self, name: str) -> Type | None:
        """Return the type of a value by its name in the graph; None before its definition."""
        if name in self._constants:
            return self._constants[name].type
        if name in self._written:
            return self.types.get(self._written[name])
        return None if self.around is None else self.around.type_around(name)

    def known(self, name: str) -> Array | None:
        """Return the elements of a constant."""
        c = self.constant(name)
        return None if c is None else c.array()

    def literal(self, values: Array, hint: str) -> str:
        """Store a small array; equal arrays are stored once."""
        array = np.asarray(values)
        key = (
            array.dtype.str,
            array.shape,
            array.tobytes() if array.dtype != object else id(array),
        )
        if key not in self._literals:
            self._literals[key] = self.store(Constant.of(array), hint)
        return self._literals[key]

    def store(self, c: Constant, hint: str) -> str:
        """Store a constant in the model; return its exported name."""
        name = self.model.names.fresh(hint)
        self.types[name] = c.type
        if c.is_splat and c.type.nbytes >= LARGE_SPLAT_BYTES and not self.in_function:
            self._made_at_run_time(c, name)
            return name
        self.model.stored_bytes += c.type.nbytes
        proto = protos.to_tensor_proto(c.array(), name)
        if self.in_function:
            self.node("Constant", (), (name,), attributes=[_tensor_attribute(proto)])
        else:
            self.stored.append(proto)
        return name

    def _made_at_run_time(self, c: Constant, name: str) -> None:
        shape = self.literal(np.array(c.type.static_shape, np.int64), f"{name}/shape")
        one = np.asarray(c.array().reshape(-1)[:1])
        proto = protos.to_tensor_proto(one, "value")
        self.node("ConstantOfShape", (shape,), (name,), attributes=[_tensor_attribute(proto)])

    def node(
        self,
        op_type: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        *,
        domain: str = "",
        name: str = "",
        origins: Sequence[str] = (),
        attributes: Sequence[Any] = (),
    ) -> None:
        """Write a node; a duplicate name gets a numeric suffix."""
        import onnx

        name = self.model.node_names.fresh(name or op_type)
        proto = onnx.NodeProto(op_type=op_type, domain=domain, name=name)
        proto.input.extend(inputs)
        proto.output.extend(outputs)
        proto.attribute.extend(attributes)
        if origins:
            proto.metadata_props.add(key=ORIGINS, value=_joined(origins))
        self.nodes.append(proto)

    def tensor_type(self, written: str) -> TensorType | None:
        """Return the type of a value if it is known to be a tensor."""
        t = self.type_of(written)
        return t if isinstance(t, TensorType) else None


ORIGINS = "origins"
"""The metadata key of a node's origins."""


def _joined(origins: Sequence[str]) -> str:
    import json

    return json.dumps(list(origins), ensure_ascii=False)


def _tensor_attribute(proto: Any) -> Any:
    import onnx

    return onnx.AttributeProto(name="value", type=onnx.AttributeProto.TENSOR, t=proto)
