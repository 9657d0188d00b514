"""The import of one ONNX node, by its operator's facet or as a foreign node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError, require
from compiler.frontend.attributes import kind_of, value_of
from compiler.frontend.bodies import body_of
from compiler.frontend.functions import Functions, normal_domain
from compiler.frontend.loops import with_open_states, with_scalar_inputs
from compiler.frontend.scopes import Frame
from compiler.frontend.tensors import TensorReader
from compiler.frontend.types import DimNames, refined
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node
from compiler.ir.infer import DEPENDS_ON_OPERANDS, typed_regions
from compiler.ir.types import DType, OpaqueType, SequenceType, TensorType, Type
from compiler.limits import Limits
from compiler.ops import protos
from compiler.ops.autodiff.differentiate import gradients
from compiler.ops.control_flow.control import CONTROL_FLOW
from compiler.ops.control_flow.control_types import scan_body_inputs
from compiler.ops.evaluation.foreign import refusal
from compiler.ops.onnx_import.facets import through_facet
from compiler.ops.onnx_import.schemas import schema_of

if TYPE_CHECKING:
    from compiler.frontend.importer import GraphImporter

UNREAD_MAY_GO = {"Dropout", "MaxPool", "LayerNormalization"}
"""Operators whose optional outputs may be omitted if the outputs are unread."""


@dataclass(frozen=True)
class Model:
    """The shared state of all graphs of one model."""

    functions: Functions
    tensors: TensorReader
    dims: DimNames
    limits: Limits
    node_names: set[str] = field(default_factory=set)


@dataclass
class NodeImporter:
    """The importer of one node other than a function call."""

    graph: GraphImporter
    frame: Frame
    node: Any
    name: str
    opset: int
    protos: Mapping[str, Any]

    def run(self, key: str) -> Any | None:
        """Add the imported node; `key` identifies its operator in the registry of ONNX operators.

        If `run` returns a function, the node was not added: the caller must inline the function.
        """
        if key == "Constant":
            self._constant()
            return None
        if key == "ai.onnx.preview.training:Gradient":
            self._gradient()
            return None
        graphs = {k: a.g for k, a in self.protos.items() if a.HasField("g")}
        model = self.graph.model
        attrs = {
            k: value_of(a, k, model.tensors, lambda t: model.dims.type(t, self.name))
            for k, a in self.protos.items()
            if k not in graphs
        }
        inputs = self._inputs()
        outputs = self._outputs()
        op = protos.join_name(normal_domain(self.node.domain), self.node.op_type)
        if not self.graph.verbatim and op not in CONTROL_FLOW:
            if not graphs and self._through_facet(inputs, attrs, outputs):
                return None
            types = [self.graph.editor.type(i) if i else None for i in inputs]
            function = body_of(self.node, self.protos, self.opset, types)
            if function is not None:
                return function
        self._carry(inputs, attrs, graphs, outputs)
        return None

    @property
    def origins(self) -> tuple[str, ...]:
        """The origin in the file: this node, or the calling node for a node inside a function."""
        return (self.frame.origin or self.name,)

    def _inputs(self) -> list[str]:
        """Return the operands without trailing omitted operands, if the schema allows that."""
        found = [self.frame.scope.value(i) for i in self.node.input]
        schema = schema_of(self.node.op_type, normal_domain(self.node.domain), self.opset)
        least = 0 if schema is None else schema.min_inputs
        while len(found) > least and not found[-1]:
            found.pop()
        return found

    def _outputs(self) -> list[str]:
        """Return the ONNX names of the outputs, except omitted or unread outputs at the end."""
        found = list(self.node.output)
        unread = self.node.op_type in UNREAD_MAY_GO and not self.frame.origin
        while len(found) > 1 and (not found[-1] or (unread and found[-1] not in self.graph.read)):
            found.pop()
        return found

    def _value_names(self, outputs: Sequence[str]) -> list[str]:
        frame, editor = self.frame, self.graph.editor
        return [
            editor.fresh(frame.value_names.get(o, frame.prefix + o)) if o else "" for o in outputs
        ]

    def _constant(self) -> None:
        model = self.graph.model
        values = list(self.protos.values())
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

    def _gradient(self) -> None:
        """Differentiate the nodes imported so far with respect to the Gradient node's values."""
        attrs = {
            k: value_of(a, k, self.graph.model.tensors, lambda _: None)
            for k, a in self.protos.items()
        }
        scope = self.frame.scope
        independent = [*attrs.get("xs", ()), *attrs.get("zs", ())]
        given = [scope.value(i) for i in self.node.input]
        require(
            isinstance(attrs.get("y"), str) and len(given) == len(independent),
            "E-MODEL-ATTRIBUTE",
            f"Gradient names {len(independent)} values but has {len(given)} operands",
        )
        at = {scope.value(n): v for n, v in zip(independent, given, strict=True)}
        xs = [scope.value(n) for n in attrs["xs"]]
        made = gradients(self.graph.editor, scope.value(attrs["y"]), xs, at, self.origins)
        for output, value in zip(self.node.output, made, strict=False):
            if output:
                self._define(output, value)

    def _through_facet(
        self, inputs: Sequence[str], attrs: Mapping[str, Any], outputs: Sequence[str]
    ) -> bool:
        """Build the call of the declared operator; return False if the node must be foreign."""
        try:
            values = through_facet(
                self.graph.editor,
                self.node.op_type,
                normal_domain(self.node.domain),
                self.opset,
                inputs,
                attrs,
                self._value_names(outputs),
                self.name,
                self.origins,
            )
        except CompileError as e:
            # A branch that is illegal for these sizes may never run.
            may_not_run = self.graph.depth > 0 and e.code in DEPENDS_ON_OPERANDS
            open_ = e.code == "E-SHAPE-OPEN"
            if open_ or may_not_run or self._is_legal(inputs, attrs, outputs):
                return False
            raise
        if values is None:
            return False
        for output, value in zip(outputs, values, strict=True):
            if output:
                self._define(output, value)
        return True

    def _define(self, output: str, value: str) -> None:
        """Bind an ONNX name to a value; refine the value's type by the name's recorded type."""
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
        """Return whether the onnx package accepts a node that our declaration refuses.

        The result is False for operators of other domains, because the package has no schemas for
        these.
        """
        node = self._foreign(inputs, attrs, {}, outputs)
        if protos.schema_of(self.node.op_type, normal_domain(self.node.domain), self.opset) is None:
            return False
        types, known = self.graph.editor.facts.operands(node)
        return refusal(node, types, known) is None

    def _carry(
        self,
        inputs: Sequence[str],
        attrs: Mapping[str, Any],
        graphs: Mapping[str, Any],
        outputs: Sequence[str],
    ) -> None:
        regions = {k: self._region(k, g, inputs, attrs) for k, g in graphs.items()}
        names = self._value_names(outputs)
        node = self._foreign(inputs, attrs, regions, names)
        captures = any(g.free_names for g in regions.values())
        require(
            not captures or node.op in CONTROL_FLOW,
            "E-MODEL-OPERATOR",
            f"a subgraph of {self.node.op_type} must not read values of the enclosing graph",
        )
        if regions:
            node = typed_regions(node, self.graph.editor.facts)
        node = replace(node, types=self.graph.editor.infer(node))
        self.graph.editor.add(node)
        for output, name in zip(outputs, names, strict=True):
            if output:
                self._define(output, name)

    def _foreign(
        self,
        inputs: Sequence[str],
        attrs: Mapping[str, Any],
        regions: Mapping[str, Graph],
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

    def _region(
        self, key: str, proto: Any, inputs: Sequence[str], attrs: Mapping[str, Any]
    ) -> Graph:
        node = self._foreign(inputs, attrs, {}, ())
        types = [self.graph.editor.type(i) if i else None for i in inputs]
        prefix = f"{self.name}/{key}/"
        given = list(_region_inputs(node, types))
        if node.op == "onnx.Loop":
            proto = with_scalar_inputs(proto)
            proto = with_open_states(proto, types[2:], self.graph.model.dims)
        return self.graph.region(proto, self.frame, prefix, given, node.op not in CONTROL_FLOW)


def _region_inputs(node: Node, types: Sequence[Type | None]) -> Iterator[Type | None]:
    """Yield the types of a region's inputs, as determined by the node's operands."""
    if node.op == "onnx.Loop":
        yield TensorType(DType.i64, ())
        yield TensorType(DType.bool, ())
        for t in types[2:]:
            # The sizes of a state may change between iterations.
            yield TensorType(t.dtype, None) if isinstance(t, TensorType) else t
    elif node.op == "onnx.Scan":
        yield from scan_body_inputs(node, types)
    elif node.op == "onnx.SequenceMap":
        for t in types:
            yield t.element if isinstance(t, SequenceType) else t
