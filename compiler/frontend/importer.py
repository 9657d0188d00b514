"""From a parsed ONNX model to a graph: scopes, functions in place, each node through its facet."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compiler.errors import CompileError, Where, require
from compiler.frontend.attributes import bound, check_node, demands, kind_of, value_of
from compiler.frontend.functions import Functions, normal_domain
from compiler.frontend.limits import Limits
from compiler.frontend.order import in_order, reads
from compiler.frontend.scopes import Frame, Scope
from compiler.frontend.tensors import TensorReader
from compiler.frontend.types import DimNames, refined
from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.infer import Facts
from compiler.ir.operator import ONNX, Call, OnnxCall, Operand, Out, Tensor
from compiler.ir.types import DType, OpaqueType, SequenceType, TensorType, Type
from compiler.ops import protos
from compiler.ops.carried import refusal
from compiler.ops.control import CONTROL_FLOW
from compiler.ops.reshape import identity

UNREAD_MAY_GO = {"Dropout", "MaxPool", "LayerNormalization"}
"""Operators whose further outputs, when nobody reads them, change nothing by being left out."""


@dataclass(frozen=True)
class Model:
    """What all graphs of one model share."""

    functions: Functions
    tensors: TensorReader
    dims: DimNames
    limits: Limits


def import_model(model: Any, tensors: TensorReader, limits: Limits) -> Graph:
    """The graph of a parsed model. Errors: E-MODEL-*, each naming its node or value."""
    shared = Model(Functions(model, limits), tensors, DimNames(limits), limits)
    opsets = opsets_of(model.opset_import, model.ir_version)
    _check_function_opsets(model)
    g = model.graph
    require(len(g.output) > 0, "E-MODEL-INVALID", "the graph has no outputs")
    return _GraphImporter(shared, g, Scope(), Facts({}, {}), depth=0).run(opsets, {}, "")


def opsets_of(imports: Iterable[Any], ir_version: int) -> dict[str, int]:
    """Version of each operator set that a model or function names. Errors: E-MODEL-OPSET."""
    import onnx

    found: dict[str, int] = {}
    newest = onnx.defs.onnx_opset_version()
    for entry in imports:
        domain, version = normal_domain(entry.domain), int(entry.version)
        twice = found.setdefault(domain, version) != version
        require(not twice, "E-MODEL-OPSET", f"two versions of the operator set {domain!r}")
        limit = newest if domain == "" else _newest(domain)
        if not 1 <= version <= limit:
            raise CompileError(
                "E-MODEL-OPSET",
                f"operator set {domain or 'ai.onnx'} {version}; versions 1 to {limit} can be read",
            )
    if not found:
        require(ir_version < 3, "E-MODEL-OPSET", "the model names no operator set")
        found[""] = 1
    return found


def _newest(domain: str) -> int:
    """The newest known version of an operator set; of those we do not know any will do."""
    import onnx

    versions = [s.since_version for s in _schemas() if s.domain == domain]
    known = {
        "ai.onnx.ml": onnx.defs.C.schema_version_map()["ai.onnx.ml"][1],
    }
    return known.get(domain, max(versions, default=0) or 1 << 31)


def _schemas() -> Sequence[Any]:
    import onnx

    return onnx.defs.get_all_schemas()


def _check_function_opsets(model: Any) -> None:
    for f in model.functions:
        opsets_of(f.opset_import, model.ir_version)


class _GraphImporter:
    """Imports one graph: the model's, or a subgraph as a region."""

    def __init__(self, model: Model, proto: Any, scope: Scope, outer: Facts, depth: int) -> None:
        model.limits.check("subgraphs in depth", depth, model.limits.nested_regions)
        self.model, self.proto, self.scope, self.depth = model, proto, scope, depth
        self.editor = Editor(Graph(proto.name or "model", (), (), ()), outer)
        self._node_names: set[str] = set()
        self._read: Collection[str] = ()

    # The graph

    def run(
        self,
        opsets: Mapping[str, int],
        attributes: Mapping[str, Any],
        prefix: str,
        input_types: Sequence[Type | None] = (),
    ) -> Graph:
        g = self.proto
        self._declare(g)
        stored = self._initialisers(g)
        self._inputs(g, stored, input_types)
        read = {name for n in g.node for name in reads(n)}
        self._read = read | {o.name for o in g.output}
        names = self._names(g.node, prefix)
        order = in_order(g.node, lambda name: self.scope.find(name) is not None, names)
        nodes = ((g.node[i], names[i]) for i in order)
        self._import_all(Frame(nodes, self.scope, opsets, attributes, prefix))
        self._results(g)
        return self.editor.graph()

    def _declare(self, g: Any) -> None:
        for v in (*g.value_info, *g.output):
            if v.HasField("type"):
                self.scope.declared[v.name] = v.type

    def _initialisers(self, g: Any) -> set[str]:
        stored: set[str] = set()
        for proto in g.initializer:
            require(bool(proto.name), "E-MODEL-NAME", "a stored tensor has no name")
            self._define_constant(proto.name, self.model.tensors.constant(proto))
            stored.add(proto.name)
        for proto in g.sparse_initializer:
            name = proto.values.name
            require(bool(name), "E-MODEL-NAME", "a stored tensor has no name")
            self._define_constant(name, self.model.tensors.sparse(proto))
            stored.add(name)
        return stored

    def _define_constant(self, name: str, c: Constant, hint: str = "") -> None:
        self.scope.define(name, self.editor.add_constant(c, hint or name))

    def _inputs(self, g: Any, stored: set[str], given: Sequence[Type | None]) -> None:
        """Graph inputs; one with a stored value is just a constant (IR version 3 lists both)."""
        position = 0
        for v in g.input:
            if v.name in stored:
                continue
            require(bool(v.name), "E-MODEL-NAME", "an input has no name")
            known = given[position] if position < len(given) else None
            name = self.editor.fresh(v.name)
            self.scope.define(v.name, name)
            self.editor.add_input(Value(name, self._input_type(v, known)))
            position += 1

    def _input_type(self, v: Any, known: Type | None) -> Type:
        dims = self.model.dims
        if self.depth == 0:
            return dims.input_type(v.type, v.name)
        declared = dims.type(v.type, v.name) if v.HasField("type") else OpaqueType()
        if isinstance(declared, OpaqueType):
            return known or declared
        if isinstance(declared, TensorType) and declared.shape is None:
            return known if isinstance(known, TensorType) else declared
        return declared

    def _results(self, g: Any) -> None:
        names: set[str] = set()
        for v in g.output:
            require(v.name not in names, "E-MODEL-NAME", f"two outputs are named {v.name!r}")
            names.add(v.name)
            value = self.scope.value(v.name)
            if self.depth and not self.editor.defines(value):
                value = self._handed_on(value)
            self.editor.results.append(Result(v.name, value))

    def _handed_on(self, value: str) -> str:
        """A captured value as one of the region's own, so that the region knows its type."""
        t = self.editor.type(value)
        if isinstance(t, TensorType):
            return self.editor.build(identity(self.editor.tensor(value)), hint=value)
        return value

    def _names(self, nodes: Sequence[Any], prefix: str) -> list[str]:
        """Unique names: the file's own first, then `OpType_position` for nodes without one."""
        names = [""] * len(nodes)
        for named in (True, False):
            for i, node in enumerate(nodes):
                if bool(node.name) is named:
                    name = prefix + (node.name or f"{node.op_type}_{i}")
                    names[i] = self._unique(name)
        return names

    def _unique(self, name: str) -> str:
        found, i = name, 1
        while found in self._node_names:
            i += 1
            found = f"{name}_{i}"
        self._node_names.add(found)
        return found

    # Nodes

    def _import_all(self, first: Frame) -> None:
        stack = [first]
        while stack:
            frame = stack[-1]
            node, name = next(frame.nodes, (None, ""))
            if node is None:
                stack.pop()
                frame.finish()
                continue
            try:
                function = self.model.functions[node]
                if function is not None:
                    stack.append(self._call(frame, node, name, function))
                else:
                    self._import(frame, node, name)
            except CompileError as e:
                raise e.at(Where(node=frame.origin or name)) from e.__cause__

    def _call(self, frame: Frame, node: Any, name: str, function: Any) -> Frame:
        """A function's body as nodes in place of a call."""
        n_in, n_out = len(function.input), len(function.output)
        fits = len(node.input) <= n_in and len(node.output) <= n_out
        require(
            fits,
            "E-MODEL-INVALID",
            f"the function {function.name!r} takes {n_in} operands and gives {n_out} values",
        )
        scope = Scope()
        given = [*node.input, *[""] * (n_in - len(node.input))]
        for formal, actual in zip(function.input, given, strict=True):
            scope.define(formal, frame.scope.value(actual))
        defaults = {a.name: a for a in function.attribute_proto}
        attributes = {**defaults, **bound(node.attribute, frame.attributes)}
        prefix = f"{name}/"
        names = self._names(function.node, prefix)
        order = in_order(function.node, scope.names.__contains__, names)
        returns = dict(zip(node.output, function.output, strict=False))
        returns.pop("", None)
        for v in function.value_info:
            scope.declared[v.name] = v.type
        return Frame(
            ((function.node[i], names[i]) for i in order),
            scope,
            opsets_of(function.opset_import, 3),
            attributes,
            prefix,
            frame.origin or name,
            {inside: frame.value_names.get(o, o) for o, inside in returns.items()},
            returns,
            frame.scope,
        )

    def _import(self, frame: Frame, node: Any, name: str) -> None:
        domain = normal_domain(node.domain)
        require(bool(node.op_type), "E-MODEL-INVALID", "a node has no operator type")
        require(any(node.output), "E-MODEL-INVALID", f"{node.op_type} has no outputs")
        opset = frame.opsets.get(domain)
        if opset is None:
            raise CompileError(
                "E-MODEL-OPSET", f"the model names no version of the operator set {domain!r}"
            )
        attributes = bound(node.attribute, frame.attributes)
        needs = demands(node.op_type, domain, opset)
        key = f"{domain}:{node.op_type}" if domain else node.op_type
        if needs is not None:
            check_node(node, needs, attributes)
        elif key not in ONNX and not protos.has_reference(node.op_type, domain):
            raise CompileError(
                "E-MODEL-OPERATOR",
                f"{node.op_type!r} is no operator of {domain or 'ai.onnx'} {opset}",
            )
        _NodeImporter(self, frame, node, name, opset, attributes).run(key)


@dataclass
class _NodeImporter:
    """Imports one node that is no function call."""

    graph: _GraphImporter
    frame: Frame
    node: Any
    name: str
    opset: int
    protos: Mapping[str, Any]

    def run(self, key: str) -> None:
        if key == "Constant":
            self._constant()
            return
        graphs = {k: a.g for k, a in self.protos.items() if a.HasField("g")}
        model = self.graph.model
        attrs = {
            k: value_of(a, k, model.tensors, lambda t: model.dims.type(t, f"{self.name}_{k}"))
            for k, a in self.protos.items()
            if k not in graphs
        }
        inputs = [self.frame.scope.value(i) for i in self.node.input]
        while inputs and not inputs[-1]:
            inputs.pop()
        outputs = self._outputs()
        if not graphs and key in ONNX and self._through_facet(key, inputs, attrs, outputs):
            return
        self._carry(inputs, attrs, graphs, outputs)

    @property
    def origins(self) -> tuple[str, ...]:
        return (self.frame.origin or self.name,)

    def _outputs(self) -> list[str]:
        """ONNX names of the outputs; those at the end that are left out, or not read, go."""
        found = list(self.node.output)
        unread = self.node.op_type in UNREAD_MAY_GO and not self.frame.origin
        while len(found) > 1 and (not found[-1] or (unread and found[-1] not in self.graph._read)):
            found.pop()
        return found

    def _value_names(self, outputs: Sequence[str]) -> list[str]:
        frame, editor = self.frame, self.graph.editor
        return [
            editor.fresh(frame.value_names.get(o, frame.prefix + o)) if o else "" for o in outputs
        ]

    def _constant(self) -> None:
        model = self.graph.model
        values = [a for k, a in self.protos.items()]
        require(
            len(values) == 1, "E-MODEL-ATTRIBUTE", f"Constant needs one value, got {len(values)}"
        )
        (a,) = values
        value = value_of(a, a.name, model.tensors, lambda _: None)
        if isinstance(value, Constant):
            c = value.with_origins(self.origins)
        else:
            kinds = type(a)
            dtype = {
                kinds.FLOAT: DType.f32,
                kinds.FLOATS: DType.f32,
                kinds.INT: DType.i64,
                kinds.INTS: DType.i64,
                kinds.STRING: DType.string,
                kinds.STRINGS: DType.string,
            }.get(kind_of(a))
            require(dtype is not None, "E-MODEL-ATTRIBUTE", f"Constant has no {a.name!r}")
            c = Constant.of(value, dtype, self.origins)
        output = self.node.output[0]
        hint = self.frame.value_names.get(output, self.frame.prefix + output)
        self.frame.scope.define(output, self.graph.editor.add_constant(c, hint))

    def _through_facet(
        self, key: str, inputs: Sequence[str], attrs: Mapping[str, Any], outputs: Sequence[str]
    ) -> bool:
        """Build what the operator's facet makes of the node; False when it is to be carried."""
        editor = self.graph.editor
        if any(i and not isinstance(editor.type(i), TensorType) for i in inputs):
            return False
        operands = tuple(editor.tensor(i) if i else None for i in inputs)
        call = OnnxCall(
            self.node.op_type,
            normal_domain(self.node.domain),
            self.opset,
            operands,
            attrs,
            len(outputs),
        )
        n_made = len(editor.made)
        try:
            made = ONNX[key](call)
            if made is None:
                return False
            self._build(made, outputs)
        except CompileError as e:
            for n in reversed(editor.made[n_made:]):
                editor.remove(n)
            del editor.made[n_made:]
            if e.code == "E-SHAPE-OPEN" or self._is_legal(inputs, attrs, outputs):
                return False
            raise
        return True

    def _build(self, made: Operand | tuple[Operand, ...], outputs: Sequence[str]) -> None:
        editor, names = self.graph.editor, self._value_names(outputs)
        parts = made if isinstance(made, tuple) else (made,)
        if isinstance(made, Call):
            parts = tuple(Out(made, i) for i in range(len(outputs)))
        require(
            len(parts) >= len(outputs),
            "E-OP-OPERANDS",
            f"{self.node.op_type} gives {len(parts)} values, {len(outputs)} are named",
        )
        whole = _is_whole(parts[: len(outputs)])
        values: list[str] = []
        for part, name in zip(parts, names, strict=False):
            if not name:
                values.append("")
                continue
            single = isinstance(part, Call) or (isinstance(part, Out) and part.index == 0)
            own = names if whole else [name] if single else None
            values.append(
                editor.build(part, hint=name, name=self.name, origins=self.origins, outputs=own)
            )
        for output, value in zip(outputs, values, strict=True):
            if output:
                self._define(output, value)

    def _define(self, output: str, value: str) -> None:
        """Give an ONNX name its value, and the value's type what the model knows better."""
        self.frame.scope.define(output, value)
        declared = self.frame.scope.declared.get(output)
        editor = self.graph.editor
        t, producer = editor.type(value), editor.producer(value)
        if declared is None or producer is None or (isinstance(t, TensorType) and t.is_static):
            return
        better = refined(t, declared, self.graph.model.dims, value)
        if better != t:
            types = tuple(
                better if o == value else old
                for o, old in zip(producer.outputs, producer.types, strict=True)
            )
            editor.update(producer, replace(producer, types=types))

    def _is_legal(
        self, inputs: Sequence[str], attrs: Mapping[str, Any], outputs: Sequence[str]
    ) -> bool:
        """Whether the onnx package finds no fault with a node that our operator refuses."""
        node = self._carried(inputs, attrs, {}, outputs, outputs)
        types, known = self.graph.editor.facts.operands(node)
        return refusal(node, types, known) is None

    def _carry(
        self,
        inputs: Sequence[str],
        attrs: Mapping[str, Any],
        graphs: Mapping[str, Any],
        outputs: Sequence[str],
    ) -> None:
        regions = {k: self._region(k, g, inputs) for k, g in graphs.items()}
        names = self._value_names(outputs)
        node = self._carried(inputs, attrs, regions, outputs, names)
        require(
            not regions or node.op in CONTROL_FLOW,
            "E-MODEL-OPERATOR",
            f"{self.node.op_type} with subgraphs cannot be computed",
        )
        node = replace(node, types=self.graph.editor.infer(node))
        self.graph.editor.add(node)
        for output, name in zip(outputs, names, strict=True):
            if output:
                self._define(output, name)

    def _carried(
        self,
        inputs: Sequence[str],
        attrs: Mapping[str, Any],
        regions: Mapping[str, Graph],
        outputs: Sequence[str],
        names: Sequence[str],
    ) -> Node:
        op = protos.join_name(normal_domain(self.node.domain), self.node.op_type)
        types = (OpaqueType(),) * len(names)
        return Node(
            op,
            tuple(inputs),
            tuple(names),
            types,
            {**attrs, "opset": self.opset},
            self.name,
            self.origins,
            regions,
        )

    def _region(self, key: str, proto: Any, inputs: Sequence[str]) -> Graph:
        outer, frame = self.graph, self.frame
        importer = _GraphImporter(
            outer.model, proto, Scope(frame.scope), outer.editor.facts, outer.depth + 1
        )
        prefix = f"{self.name}/{key}/"
        types = [outer.editor.type(i) if i else None for i in inputs]
        given = list(_region_inputs(self.node.op_type, types, self.protos))
        return importer.run(frame.opsets, frame.attributes, prefix, given)


def _is_whole(parts: Sequence[Operand]) -> bool:
    """Whether the parts are the outputs of one call, all in order."""
    return len({id(p.call) for p in parts if isinstance(p, Out)}) == 1 and all(
        isinstance(p, Out) and p.index == i for i, p in enumerate(parts)
    )


def _region_inputs(
    op_type: str, types: Sequence[Type | None], attributes: Mapping[str, Any]
) -> Iterator[Type | None]:
    """Types of a region's inputs as far as the operands decide them."""
    if op_type == "Loop":
        yield TensorType(DType.i64, ())
        yield TensorType(DType.bool, ())
        for t in types[2:]:
            # The sizes of a state may change from step to step.
            yield TensorType(t.dtype, None) if isinstance(t, TensorType) else t
    elif op_type == "Scan" and "num_scan_inputs" in attributes:
        n_states = len(types) - int(attributes["num_scan_inputs"].i)
        for t in types:
            yield TensorType(t.dtype, None) if isinstance(t, TensorType) else None
        assert n_states is not None
    elif op_type == "SequenceMap":
        for t in types:
            yield t.element if isinstance(t, SequenceType) else t


__all__ = ["Tensor", "import_model"]
