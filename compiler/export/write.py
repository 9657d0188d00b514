"""The export of nodes: by `export` facets, by decompositions, or unchanged."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from compiler.compute.decompose import composition
from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where, require
from compiler.export.attributes import attribute_protos
from compiler.export.combine import combined
from compiler.export.foreign import write_foreign
from compiler.export.fused import call_function
from compiler.export.kernels import instead
from compiler.export.opsets import NEWEST
from compiler.export.scope import Model, Scope
from compiler.export.widening import outputs_as, widened
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS, Operand, Out, Standard, Tensor, with_trait
from compiler.ir.types import (
    DType,
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    TensorType,
    Type,
    logical,
)
from compiler.ops import protos


def write_nodes(scope: Scope, graph: Graph, targets: Mapping[str, str]) -> None:
    """Write all nodes of a graph to a scope; `targets` maps values to required names.

    Errors: E-EXPORT-*, each naming its node.
    """
    read = {*graph.users, *graph.result_values}
    for node in graph.nodes:
        try:
            _write(scope, _without_unread(node, read), targets)
        except CompileError as e:
            raise e.at(Where(node=node.name)) from e.__cause__


def _without_unread(node: Node, read: Container[str]) -> Node:
    """Omit the unread results of a node from the export."""
    if node.op not in OPERATORS or len(node.outputs) == 1:
        return node
    kept = (o if i == 0 or o in read else "" for i, o in enumerate(node.outputs))
    return replace(node, outputs=tuple(kept))


def _write(scope: Scope, node: Node, targets: Mapping[str, str]) -> None:
    if node.op == "relayout":
        scope.define(node.output, scope.value(node.inputs[0]), logical(node.type))
        return
    again = scope.written.get(_key(scope, node), ()) if _is_repeatable(node, targets) else ()
    if again:
        for value, written, t in zip(node.outputs, again, node.types, strict=True):
            if value:
                scope.define(value, written, logical(t))
        return
    outputs = [targets.get(o) or scope.model.names.fresh(o) if o else "" for o in node.outputs]
    if node.op == "fusion" and scope.model.fused and not scope.in_function:
        call_function(scope, node, outputs, write_body)
    elif node.op == "fusion":
        body = node.regions["body"]
        values = (r.value for r in body.results)
        inline(scope, body, node.inputs, list(zip(values, outputs, strict=True)))
    elif node.op.startswith("onnx."):
        write_foreign(scope, node, outputs, write_graph)
    else:
        _through_facet(scope, node, outputs)
    for value, written, t in zip(node.outputs, outputs, node.types, strict=True):
        if value:
            scope.define(value, written, logical(t))
    if node.op in OPERATORS:
        scope.written.setdefault(_key(scope, node), tuple(outputs))


def _is_repeatable(node: Node, targets: Mapping[str, str]) -> bool:
    """Return whether an equal node that is already written can replace this node.

    After inlining, one node suffices for a cheap value that several fused kernels recompute.
    """
    drawn = node.op in with_trait("random")
    return node.op in OPERATORS and not drawn and not any(o in targets for o in node.outputs)


def _key(scope: Scope, node: Node) -> tuple[Any, ...]:
    """Return a key of a node's computation: its operator, attributes and exported operands."""
    attrs = tuple((k, repr(v)) for k, v in sorted(node.attrs.items()))
    outputs = tuple(bool(o) for o in node.outputs)
    return (node.op, tuple(map(scope.identity, node.inputs)), attrs, outputs)


def _through_facet(scope: Scope, node: Node, outputs: Sequence[str]) -> None:
    """Write a node by its `export` facet. Errors: E-EXPORT-OPERATOR if none exists."""
    operator = OPERATORS[node.op]
    types = {i: _tensor_type(scope, i) for i in node.inputs if i}
    operands = [Tensor(i, types[i], scope.known(i)) if i else None for i in node.inputs]
    made = operator.export_fn(*operands, **node.attrs) if operator.export_fn else None
    if made is None and operator.decompose_fn is not None:
        made = operator.decompose_fn(*operands, **node.attrs)
    if made is None:
        raise CompileError("E-EXPORT-OPERATOR", f"{node.op} has no ONNX form for these operands")
    if _is_standard(made):
        _Expression(scope, node, outputs).write(made)
        return
    body = composition(node, types, made)
    written = [(o, name) for o, name in zip(node.outputs, outputs, strict=True) if o]
    inline(scope, body, [v.name for v in body.inputs], written)


def _tensor_type(scope: Scope, value: str) -> TensorType:
    t = scope.tensor_type(scope.value(value))
    assert t is not None, f"{value!r} is not a tensor"
    return t


def _is_standard(made: Operand | tuple[Operand, ...]) -> bool:
    first = made[0] if isinstance(made, tuple) else made
    return isinstance(first.call if isinstance(first, Out) else first, Standard | Tensor)


def inline(
    scope: Scope, body: Graph, operands: Sequence[str], results: Sequence[tuple[str, str]]
) -> None:
    """Inline a body with these operands, and give the body's results these names."""
    inner = scope.inner()
    for v, operand in zip(body.inputs, operands, strict=True):
        inner.define(v.name, scope.value(operand), logical(v.type), scope.constant(operand))
    write_body(inner, body, results)


def write_body(scope: Scope, body: Graph, results: Sequence[tuple[str, str]]) -> None:
    """Write the nodes of a body with named inputs, and give its results these names."""
    body = combined(body, scope)
    scope.constants(body.constants)
    targets: dict[str, str] = {}
    for value, name in results:
        source = source_of(body, value)
        if source in body.producers:
            targets.setdefault(source, name)
    write_nodes(scope, body, targets)
    give_names(scope, results)


def source_of(graph: Graph, value: str) -> str:
    """Return the value from which a value was copied through any number of relayouts."""
    while (node := graph.producers.get(value)) is not None and node.op == "relayout":
        value = node.inputs[0]
    return value


def give_names(scope: Scope, results: Iterable[tuple[str, str]]) -> None:
    """Write an Identity node for each value whose exported name differs from the required name."""
    for value, name in results:
        found = scope.value(value)
        if found != name:
            scope.node("Identity", (found,), (name,), name=name)


def write_graph(model: Model, graph: Graph, around: Scope | None = None) -> Any:
    """Convert a graph to a GraphProto; the values of a subgraph (with `around`) may be renamed.

    Errors: E-EXPORT-*.
    """
    scope, fresh = Scope(model, around), model.names.fresh
    inputs = [v.name if around is None else fresh(v.name) for v in graph.inputs]
    results = [r.name if around is None else fresh(r.name) for r in graph.results]
    for v, name in zip(graph.inputs, inputs, strict=True):
        scope.define(v.name, name, logical(v.type))
    values = [r.value for r in graph.results]
    if around is None:
        _check_names(results, values, inputs)
    else:
        scope.constants(graph.constants)
        results = _handed_on(scope, graph, results)
    write_body(scope, graph, list(zip(values, results, strict=True)))
    types = [graph.types.get(v, OpaqueType()) for v in values]
    return _graph_proto(
        graph.name,
        scope,
        zip(inputs, (v.type for v in graph.inputs), strict=True),
        zip(results, types, strict=True),
    )


def _handed_on(scope: Scope, graph: Graph, results: Sequence[str]) -> list[str]:
    """Return the names of a subgraph's results; inputs and constants retain their names."""
    own = {v.name for v in graph.inputs} | set(graph.constants)
    made: list[str] = []
    for r, name in zip(graph.results, results, strict=True):
        made.append(scope.value(r.value) if r.value in own else name)
        own.discard(r.value)
    return made


def _check_names(results: Sequence[str], values: Sequence[str], inputs: Sequence[str]) -> None:
    for name, value in zip(results, values, strict=True):
        require(
            name not in inputs or name == value,
            "E-EXPORT-NAME",
            f"the result {name!r} has the name of an input, but its value is {value!r}",
        )


def _graph_proto(
    name: str, scope: Scope, inputs: Iterable[tuple[str, Type]], results: Iterable[tuple[str, Type]]
) -> Any:
    import onnx

    outputs = list(results)
    proto = onnx.GraphProto(name=name)
    proto.input.extend(_info(*v) for v in inputs)
    proto.output.extend(_info(*v) for v in outputs)
    proto.node.extend(scope.nodes)
    proto.initializer.extend(scope.stored)
    told = {n for n, _ in outputs}
    for made in (o for n in scope.nodes for o in n.output if o and o not in told):
        if (t := scope.types.get(made)) is not None and not has_opaque(t):
            proto.value_info.append(_info(made, t))
    return proto


def _info(name: str, t: Type) -> Any:
    import onnx

    return onnx.ValueInfoProto(name=name, type=protos.to_type_proto(logical(t)))


def has_opaque(t: Type) -> bool:
    """Return whether a type lacks information that ONNX requires."""
    match t:
        case OpaqueType():
            return True
        case SequenceType(element) | OptionalType(element) | MapType(_, element):
            return has_opaque(element)
        case _:
            return False


@dataclass
class _Expression:
    """The emitter of the expression that an `export` facet returns for one node."""

    scope: Scope
    node: Node
    outputs: Sequence[str]
    _done: dict[int, tuple[Any, list[str]]] = field(default_factory=dict)
    _dtypes: dict[str, DType] = field(default_factory=dict)
    """The element types of the outputs of nested calls in the expression."""

    def write(self, made: Operand | tuple[Operand, ...]) -> None:
        """Write the expression's nodes; its results have the names `outputs`."""
        parts = made if isinstance(made, tuple) else (made,)
        if len(parts) == 1 and isinstance(parts[0], Standard):
            parts = tuple(Out(parts[0], i) for i in range(len(self.outputs)))
        wanted: dict[int, dict[int, str]] = {}
        for part, output in zip(parts, self.outputs, strict=False):
            call, index = (part.call, part.index) if isinstance(part, Out) else (part, 0)
            taken = wanted.setdefault(id(call), {})
            if output and isinstance(call, Standard) and index not in taken:
                taken[index] = output
        for part, output in zip(parts, self.outputs, strict=False):
            if output:
                found = self._value(part, wanted)
                if found != output:
                    self._node("Identity", (found,), (output,), last=True)

    def _value(self, part: Operand, wanted: Mapping[int, Mapping[int, str]]) -> str:
        match part:
            case None:
                return ""
            case Tensor() if part.name:
                return self.scope.value(part.name)
            case Tensor():
                return self.scope.literal(part.known, f"{self.node.name}/constant")
            case np.ndarray() | np.generic():
                return self.scope.literal(np.asarray(part), f"{self.node.name}/constant")
            case Standard():
                return self._standard(part, wanted)[0]
            case Out(Standard() as call, index):
                return self._standard(call, wanted)[index]
            case _:
                raise TypeError(f"{part!r} cannot be an operand of a standard node")

    def _standard(self, s: Standard, wanted: Mapping[int, Mapping[int, str]]) -> list[str]:
        if id(s) not in self._done:
            named = wanted.get(id(s), {})
            inputs = [self._value(a, {}) for a in s.args]
            other = instead(s, self._dtype(inputs[0]) if inputs else None)
            if other is not None:
                self._done[id(s)] = ((s, other), self._standard(other, {id(other): named}))
                return self._done[id(s)][1]
            while inputs and not inputs[-1]:
                inputs.pop()
            n = max(s.n_outputs, *(i + 1 for i in named), 1)
            attrs = tuple((k, _told_apart(v)) for k, v in sorted(s.attrs.items()))
            key = (s.op_type, s.domain, *inputs, attrs, n)
            again = self.scope.written.get(key) if not named else None
            fresh = self.scope.model.names.fresh
            outputs = [named.get(i) or fresh(f"{self.node.name}/{s.op_type}") for i in range(n)]
            if again is None:
                self._write_one(s, inputs, outputs, bool(named))
            if again is None and not named and not s.op_type.startswith("Random"):
                self.scope.written[key] = tuple(outputs)
            self._done[id(s)] = (s, outputs if again is None else list(again))
        return self._done[id(s)][1]

    def _dtype(self, value: str) -> DType | None:
        """Return the element type of an exported value, if known."""
        t = self.scope.tensor_type(value) if value else None
        return self._dtypes.get(value) if t is None else t.dtype

    def _write_one(self, s: Standard, inputs: list[str], outputs: list[str], last: bool) -> None:
        schema = protos.schema_of(s.op_type, s.domain, self._version(s.domain))
        if schema is None:
            raise CompileError(
                "E-EXPORT-OPSET", f"opset {self.scope.model.opset} of ONNX has no {s.op_type}"
            )
        attributes = attribute_protos(s.op_type, s.attrs, schema)
        dtypes = [self._dtype(i) for i in inputs]
        made = zip(outputs, outputs_as(schema, dtypes, len(outputs)), strict=True)
        self._dtypes.update((o, t) for o, t in made if t is not None)
        wide = widened(s, schema, dtypes)
        if wide is None:
            self._node(s.op_type, inputs, outputs, s.domain, attributes, last)
            return
        cast = [
            self._cast(i, t.onnx) if i and t is not None else i
            for i, t in zip(inputs, wide.inputs, strict=True)
        ]
        fresh = self.scope.model.names.fresh
        narrow = [
            fresh(f"{o}/wide") if t is not None else o
            for o, t in zip(outputs, wide.outputs, strict=False)
        ]
        self._node(s.op_type, cast, narrow, s.domain, attributes)
        for a, b, t in zip(narrow, outputs, wide.outputs, strict=False):
            if t is not None:
                self._node(
                    "Cast", (a,), (b,), "", attribute_protos("Cast", {"to": t.onnx}, None), last
                )

    def _cast(self, value: str, to: int) -> str:
        made = self.scope.model.names.fresh(f"{value}/cast")
        self._node("Cast", (value,), (made,), "", attribute_protos("Cast", {"to": to}, None))
        return made

    def _version(self, domain: str) -> int:
        if not domain:
            return self.scope.model.opset
        return self.scope.model.domains.setdefault(domain, NEWEST[domain])

    def _node(
        self,
        op_type: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        domain: str = "",
        attributes: Sequence[Any] = (),
        last: bool = False,
    ) -> None:
        name = self.node.name if last else f"{self.node.name}/{op_type}"
        self.scope.node(
            op_type,
            inputs,
            outputs,
            domain=domain,
            name=name,
            origins=self.node.origins,
            attributes=attributes,
        )


def _told_apart(attribute: Any) -> Any:
    """Return a hashable key of an attribute; repr() would abbreviate long arrays."""
    if isinstance(attribute, np.ndarray):
        return (str(attribute.dtype), attribute.shape, attribute.tobytes())
    return repr(attribute)
