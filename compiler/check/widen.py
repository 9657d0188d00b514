"""Conversion of graphs to f64, in which rounding errors are small enough for a reference.

Constants, inputs, attributes and casts of narrower floats become f64 if type rules permit. Nodes
without an f64 form (quantised operators, control flow, foreign operators) keep their types, are
surrounded by casts, and are reported. Sequences and optionals stay narrow, since no native operator
casts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.constant import Constant, Splat
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.infer import Facts
from compiler.ir.operator import OPERATORS
from compiler.ir.types import DType, TensorType, Type

NARROW = (DType.f32, DType.f16, DType.bf16)
"""The types that become f64.

Floats of at most eight bits are storage types, which a model uses on purpose.
"""

KEEPS_ITS_TYPE = frozenset(
    {"bitcast", "random_uniform", "random_normal", "dynamic_quantize", "quantization_range"}
)
"""Operators whose results depend on bit patterns or bit widths."""


@dataclass(frozen=True, slots=True)
class Wide:
    """A graph in f64; `narrow` names the results of the nodes that are not converted to f64."""

    graph: Graph
    narrow: tuple[str, ...]

    @property
    def is_wide(self) -> bool:
        """Return whether all nodes became f64."""
        return not self.narrow


def widened(graph: Graph) -> Wide:
    """Convert a graph to f64 without renaming values. Errors: any error of the type rules."""
    maker = _Maker.of(graph)
    for node in graph.nodes:
        maker.node(node)
    results = tuple(Result(r.name, r.value) for r in graph.results)
    made = Graph(graph.name, maker.inputs, results, tuple(maker.nodes), maker.constants)
    return Wide(made, tuple(maker.narrow))


def wide_feeds(feeds: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the inputs of a graph to f64."""
    return {name: _wide_value(value) for name, value in feeds.items()}


def wide_type(t: Type) -> Type:
    """Replace a narrow element type with f64; return other types unchanged."""
    if isinstance(t, TensorType) and t.dtype in NARROW:
        return replace(t, dtype=DType.f64)
    return t


def _wide_value(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype in _NARROW_NUMPY:
        with np.errstate(all="ignore"):
            return value.astype(np.float64)
    return value


_NARROW_NUMPY = {d.numpy for d in NARROW}


@dataclass
class _Maker:
    """The f64 graph under construction; `facts` describes its values."""

    source: Graph
    inputs: tuple[Value, ...]
    constants: dict[str, Constant]
    facts: Facts
    nodes: list[Node] = field(default_factory=list)
    narrow: list[str] = field(default_factory=list)
    n_casts: int = 0

    @staticmethod
    def of(graph: Graph) -> _Maker:
        inputs = tuple(Value(v.name, wide_type(v.type)) for v in graph.inputs)
        constants = {k: _wide_constant(c) for k, c in graph.constants.items()}
        bare = Graph(graph.name, inputs, (), (), constants)
        return _Maker(graph, inputs, constants, Facts.of_graph(bare))

    def node(self, node: Node) -> None:
        wide = self.wide(node)
        if wide is None:
            self.between_casts(node)
        else:
            self.nodes.append(wide)
            self.note(wide)

    def wide(self, node: Node) -> Node | None:
        """Return the node in f64, or None if its operator does not permit f64."""
        types = tuple(map(wide_type, node.types))
        reads = (self.source.types.get(i) for i in node.reads)
        if types == node.types and all(t is None or wide_type(t) == t for t in reads):
            return node  # The node has no narrow type.
        if node.op in KEEPS_ITS_TYPE or node.op not in (*OPERATORS, "fusion"):
            return None
        made = replace(node, types=types, attrs={k: _wide_attr(v) for k, v in node.attrs.items()})
        if node.regions:
            inner = {k: widened(region) for k, region in node.regions.items()}
            if node.op != "fusion" or not all(w.is_wide for w in inner.values()):
                return None
            made = replace(made, regions={k: w.graph for k, w in inner.items()})
        before = dict(self.facts.types)
        try:
            inferred = self.facts.visit(made)
        except CompileError:
            inferred = ()
        if len(inferred) == len(types) and all(map(_same_elements, inferred, types)):
            return made
        self.facts.types.clear()
        self.facts.types.update(before)
        return None

    def between_casts(self, node: Node) -> None:
        """Add the node unchanged, with casts of its operands and results."""
        rename = {i: self.cast_back(i) for i in dict.fromkeys(node.reads)}
        outputs = tuple(
            self.fresh(o) if o and wide_type(t) != t else o
            for o, t in zip(node.outputs, node.types, strict=True)
        )
        made = replace(node.with_inputs(rename), outputs=outputs)
        self.nodes.append(made)
        self.note(made)
        self.narrow.append(node.output)
        for name, inner, t in zip(node.outputs, outputs, node.types, strict=True):
            if inner != name:
                self.cast(inner, name, wide_type(t))

    def cast_back(self, name: str) -> str:
        narrow, wide = self.source.types.get(name), self.facts.types.get(name)
        if narrow is None or wide is None or narrow == wide or not isinstance(narrow, TensorType):
            return name
        return self.cast(name, self.fresh(name), narrow)

    def cast(self, value: str, name: str, t: Type) -> str:
        assert isinstance(t, TensorType), f"{name} is {t}"
        node = Node("cast", (value,), (name,), (t,), OPERATORS["cast"].bind({"to": t.dtype}), name)
        self.nodes.append(node)
        self.note(node)
        return name

    def note(self, node: Node) -> None:
        """Record types and known elements of a node's results.

        A type recorded in the node replaces the inferred type, since the recorded type may be more
        precise.
        """
        try:
            self.facts.visit(node)
        except CompileError:
            pass  # The node fails at run time, as the original does.
        self.facts.types.update((v.name, v.type) for v in node.values())

    def fresh(self, hint: str) -> str:
        self.n_casts += 1
        return f"{hint}.narrow{self.n_casts}"


def _wide_constant(c: Constant) -> Constant:
    if c.type.dtype not in NARROW:
        return c
    if isinstance(c.storage, Splat):
        t = replace(c.type, dtype=DType.f64)
        return Constant.splat(c.storage.value, t, c.origins)
    with np.errstate(all="ignore"):
        return Constant.of(c.array().astype(np.float64), origins=c.origins)


def _wide_attr(value: Any) -> Any:
    return DType.f64 if value in NARROW and isinstance(value, DType) else value


def _same_elements(inferred: Type, wanted: Type) -> bool:
    if isinstance(inferred, TensorType) and isinstance(wanted, TensorType):
        return inferred.dtype is wanted.dtype
    return inferred == wanted
