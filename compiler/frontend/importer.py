"""The import of a parsed ONNX model: scopes, inlined functions, nodes in order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from compiler.errors import CompileError, Where, require
from compiler.frontend.attributes import bound, check_node
from compiler.frontend.functions import Functions, normal_domain
from compiler.frontend.node import Model, NodeImporter
from compiler.frontend.opsets import is_standard, opsets_of
from compiler.frontend.order import in_order, reads
from compiler.frontend.scopes import Frame, Scope
from compiler.frontend.tensors import TensorReader
from compiler.frontend.types import DimNames
from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Result, Value
from compiler.ir.infer import Facts
from compiler.ir.operator import ONNX
from compiler.ir.types import OpaqueType, TensorType, Type
from compiler.limits import Limits, check
from compiler.ops import protos
from compiler.ops.data_movement.reshape import identity
from compiler.ops.onnx_import.schemas import schema_of
from compiler.ops.type_rules.implied_sizes import implied_sizes, without_implied_sizes


def import_model(model: Any, tensors: TensorReader, limits: Limits) -> Graph:
    """Import a parsed model. Errors: E-MODEL-*, each naming its node or value.

    Equal names of open sizes normally mean equal sizes. If the shapes then conflict, each
    occurrence of a name becomes a separate size. Open sizes that operators determine become
    numbers: weights of 64 channels require images of 64 channels.
    """
    names = DimNames(limits)
    try:
        with implied_sizes() as implied:
            graph = _imported(model, tensors, names, limits)
        sizes = names.decided(implied)
        return _imported(model, tensors, DimNames(limits, sizes=sizes), limits) if sizes else graph
    except CompileError as e:
        if e.code != "E-OP-SHAPE" or not names.shared:
            raise
        try:
            return _imported(model, tensors, DimNames(limits, apart=True), limits)
        except CompileError:
            raise e from None


def _imported(model: Any, tensors: TensorReader, names: DimNames, limits: Limits) -> Graph:
    shared = Model(Functions(model, limits), tensors, names, limits)
    opsets = opsets_of(model.opset_import, model.ir_version)
    for f in model.functions:
        opsets_of(f.opset_import, model.ir_version)
    g = model.graph
    require(len(g.output) > 0, "E-MODEL-INVALID", "the graph has no outputs")
    return GraphImporter(shared, g, Scope(), Facts({}, {}), depth=0).run(opsets, {}, "")


class GraphImporter:
    """The importer of one graph: the model's main graph, or a subgraph as a region."""

    def __init__(
        self,
        model: Model,
        proto: Any,
        scope: Scope,
        outer: Facts,
        depth: int,
        verbatim: bool = False,
    ) -> None:
        """`verbatim` makes every node foreign, for subgraphs that are evaluated as ONNX graphs."""
        model.limits.check("nesting depth of subgraphs", depth, model.limits.nested_regions)
        self.model, self.proto, self.scope, self.depth = model, proto, scope, depth
        self.verbatim = verbatim
        self.editor = Editor(Graph(proto.name or "model", (), (), ()), outer)
        self.read: Collection[str] = ()

    # The graph

    def run(
        self,
        opsets: Mapping[str, int],
        attributes: Mapping[str, Any],
        prefix: str,
        input_types: Sequence[Type | None] = (),
    ) -> Graph:
        """Import the graph; `prefix` is for unnamed nodes, `input_types` for untyped inputs."""
        g = self.proto
        self._declare(g)
        stored = self._initialisers(g)
        self._inputs(g, stored, input_types)
        read = {name for n in g.node for name in reads(n)}
        self.read = read | {o.name for o in g.output}
        names = self._names(g.node, "", prefix)
        defined = self.scope.names
        order = in_order(g.node, names, defined, lambda name: self.scope.find(name) is not None)
        nodes = ((g.node[i], names[i]) for i in order)
        self._import_all(Frame(nodes, self.scope, opsets, attributes))
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
        """Add graph inputs; an input with a stored value (IR version 3) is a constant instead."""
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
        if isinstance(declared, TensorType):
            return dims.with_varying_sizes(declared, known)
        return declared

    def _results(self, g: Any) -> None:
        names: set[str] = set()
        for v in g.output:
            require(v.name not in names, "E-MODEL-NAME", f"two outputs are named {v.name!r}")
            names.add(v.name)
            value = self.scope.value(v.name)
            if self.depth and not self.verbatim and not self.editor.defines(value):
                value = self._handed_on(value)
            self.editor.results.append(Result(v.name, value))

    def _handed_on(self, value: str) -> str:
        """Add an identity of a captured value to the region, to record the value's type inside."""
        t = self.editor.type(value)
        if isinstance(t, TensorType):
            return self.editor.build(identity(self.editor.tensor(value)), hint=value)
        return value

    def _names(self, nodes: Sequence[Any], prefix: str, nameless: str) -> list[str]:
        """Return unique node names: those of the file, and `OpType_position` for unnamed nodes.

        Names from the file get the prefix `prefix`; names of unnamed nodes get the prefix
        `nameless`.
        """
        names = [""] * len(nodes)
        for named in (True, False):
            for i, node in enumerate(nodes):
                if bool(node.name) is named:
                    made = prefix + node.name if named else f"{nameless}{node.op_type}_{i}"
                    names[i] = self._unique(made)
        return names

    def _unique(self, name: str) -> str:
        found, i = name, 1
        while found in self.model.node_names:
            i += 1
            found = f"{name}_{i}"
        self.model.node_names.add(found)
        return found

    def region(
        self, proto: Any, frame: Frame, prefix: str, given: Sequence[Type | None], verbatim: bool
    ) -> Graph:
        """Import a subgraph of one of this graph's nodes."""
        importer = GraphImporter(
            self.model,
            proto,
            Scope(frame.scope),
            self.editor.facts,
            self.depth + 1,
            self.verbatim or verbatim,
        )
        with without_implied_sizes():
            return importer.run(frame.opsets, frame.attributes, prefix, given)

    # Nodes

    def _import_all(self, first: Frame) -> None:
        stack = [first]
        while stack:
            check("reading the nodes")
            frame = stack[-1]
            node, name = next(frame.nodes, (None, ""))
            if node is None:
                stack.pop()
                frame.finish()
                continue
            try:
                function = self.model.functions[node] or self._import(frame, node, name)
                if function is not None:
                    stack.append(self._call(frame, node, name, function))
            except CompileError as e:
                raise e.at(Where(node=frame.origin or name)) from e.__cause__
            except (ArithmeticError, LookupError, ValueError) as e:
                # numpy rejects numbers that are invalid as a size, axis or scale.
                where = Where(node=frame.origin or name)
                reason = f"{node.op_type} does not accept these numbers: {e}"[:300]
                raise CompileError("E-MODEL-INVALID", reason, where=where) from e

    def _call(self, frame: Frame, node: Any, name: str, function: Any) -> Frame:
        """Inline the body of a function."""
        n_in, n_out = len(function.input), len(function.output)
        fits = len(node.input) <= n_in and len(node.output) <= n_out
        require(
            fits,
            "E-MODEL-INVALID",
            f"the function {function.name!r} has {n_in} inputs and {n_out} outputs, but a call "
            f"has {len(node.input)} inputs and {len(node.output)} outputs",
        )
        scope = Scope()
        given = [*node.input, *[""] * (n_in - len(node.input))]
        for formal, actual in zip(function.input, given, strict=True):
            scope.define(formal, frame.scope.value(actual))
        defaults = {a.name: a for a in function.attribute_proto}
        attributes = {**defaults, **bound(node.attribute, frame.attributes)}
        prefix = f"{name}/"
        names = self._names(function.node, prefix, prefix)
        order = in_order(function.node, names, scope.names, scope.names.__contains__)
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

    def _import(self, frame: Frame, node: Any, name: str) -> Any | None:
        """Import a node other than a function call, or return a body for the caller to inline."""
        domain = normal_domain(node.domain)
        require(bool(node.op_type), "E-MODEL-INVALID", "a node has no operator type")
        require(any(node.output), "E-MODEL-INVALID", f"{node.op_type} has no outputs")
        opset = frame.opsets.get(domain)
        if opset is None:
            raise CompileError(
                "E-MODEL-OPSET", f"the model imports no version of the operator set {domain!r}"
            )
        attributes = bound(node.attribute, frame.attributes)
        schema = schema_of(node.op_type, domain, opset)
        key = f"{domain}:{node.op_type}" if domain else node.op_type
        if schema is not None:
            check_node(node, schema, attributes)
        else:
            _check_unknown(node, key, domain, opset)
        return NodeImporter(self, frame, node, name, opset, attributes).run(key)


def _check_unknown(node: Any, key: str, domain: str, opset: int) -> None:
    """Check that an operator without a known schema has a declaration.

    Errors: E-MODEL-OPERATOR.
    """
    hint = ""
    if is_standard(domain):
        came = protos.first_opset(node.op_type, domain)
        if came:
            hint = f"opset {came} introduced this operator: export the model for that opset"
    elif key in ONNX or protos.has_reference(node.op_type, domain):
        return
    raise CompileError(
        "E-MODEL-OPERATOR",
        f"{node.op_type!r} is not an operator of {domain or 'ai.onnx'} {opset}",
        hint=hint,
    )
