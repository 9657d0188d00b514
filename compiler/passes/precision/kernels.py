"""Kernels that convert lower-precision operands to f32, compute in f32, and convert the results."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field, replace

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph, Node, Result, Value, names_inside
from compiler.ir.operator import OPERATORS
from compiler.ir.types import DType, TensorType, Type
from compiler.passes.precision.storage import MOVES


def retyped(t: Type, dtype: DType) -> TensorType:
    """Change the element type of a tensor type, and keep its layout."""
    assert isinstance(t, TensorType), f"{t} is not a tensor"
    return replace(t, dtype=dtype)


def casting(source: str, made: str, t: TensorType, origins: tuple[str, ...]) -> Node:
    """Build a cast to the element type of `t` that flushes denormals, as bf16 instructions do."""
    op = "cast" if t.dtype is DType.f32 else "cast_flushed"
    return Node(op, (source,), (made,), (t,), OPERATORS[op].bind({"to": t.dtype}), made, origins)


@dataclass(slots=True)
class Body:
    """A builder of the body of a fused group whose f32 operands and results may become bf16."""

    node: Node
    to: DType
    taken: set[str] = field(default_factory=set)
    nodes: list[Node] = field(default_factory=list)
    wide: dict[str, str] = field(default_factory=dict)
    """The f32 conversion of each operand stored in lower precision."""
    rounded: dict[str, str] = field(default_factory=dict)
    """The rounded f32 copy of each value that the body computes, or that is stored as f32."""

    def __post_init__(self) -> None:
        self.taken = set(names_inside(self.graph))

    @property
    def graph(self) -> Graph:
        """The original body."""
        return self.node.regions["body"]

    def changed(
        self, comes: Collection[str], goes: Collection[str], products: Collection[str]
    ) -> Graph:
        """Return the body with conversions.

        `comes` and `goes` are the lower-precision inputs and results of the body. `products` are
        the nodes with rounded operands: inputs in lower precision are rounded already, and the body
        rounds all other operands.
        """
        inputs = [self._input(v, v.name in comes) for v in self.graph.inputs]
        for n in self.graph.nodes:
            operands = {i: self.wide.get(i, i) for i in n.inputs}
            if n.output in products:
                operands.update((i, self._rounded(i, n.origins)) for i in n.inputs[:2])
            self.nodes.append(n.with_inputs(operands))
        results = [self._result(r, r.value in goes) for r in self.graph.results]
        return replace(
            self.graph, inputs=tuple(inputs), nodes=tuple(self.nodes), results=tuple(results)
        )

    def _input(self, v: Value, narrow: bool) -> Value:
        if not narrow:
            return v
        self.wide[v.name] = self._cast(v.name, f"{v.name}.wide", v.type, DType.f32, ())
        return Value(v.name, retyped(v.type, self.to))

    def _rounded(self, value: str, origins: tuple[str, ...]) -> str:
        if value in self.wide:
            return self.wide[value]
        if value not in self.rounded:
            t = self.graph.types[value]
            short = self._cast(value, f"{value}.{self.to}", t, self.to, origins)
            self.rounded[value] = self._cast(short, f"{value}.rounded", t, DType.f32, origins)
        return self.rounded[value]

    def _result(self, r: Result, narrow: bool) -> Result:
        if not narrow:
            return r
        t, made = self.graph.types[r.value], self.graph.producers[r.value]
        name = self._cast(r.value, f"{r.value}.{self.to}", t, self.to, made.origins)
        return Result(name, name)

    def _cast(self, source: str, hint: str, t: Type, dtype: DType, origins: tuple[str, ...]) -> str:
        made = fresh(hint, self.taken)
        origins = origins or self.node.origins
        self.nodes.append(casting(source, made, retyped(t, dtype).logical, origins))
        return made


def moved(node: Node, to: DType) -> Node:
    """Return a data movement kernel with lower-precision elements."""
    types = tuple(retyped(t, to) for t in node.types)
    if node.op != "fusion":
        assert node.op in MOVES, f"{node.op} is not data movement"
        return replace(node, types=types)
    body = node.regions["body"]
    inner = tuple(
        replace(n, types=tuple(retyped(t, to) if _is_f32(t) else t for t in n.types))
        for n in body.nodes
    )
    inputs = tuple(
        Value(v.name, retyped(v.type, to) if _is_f32(v.type) else v.type) for v in body.inputs
    )
    body = replace(body, inputs=inputs, nodes=inner)
    return replace(node, types=types, regions={"body": body})


def _is_f32(t: Type) -> bool:
    return isinstance(t, TensorType) and t.dtype is DType.f32


def fresh(hint: str, taken: set[str]) -> str:
    """Reserve and return a fresh name."""
    name = hint
    while name in taken:
        name += "'"
    taken.add(name)
    return name


def with_body(
    node: Node, body: Graph, operands: Mapping[str, str], types: tuple[Type, ...]
) -> Node:
    """Return a fused group with another body, operands and result types."""
    inputs = tuple(operands.get(i, i) for i in node.inputs)
    return replace(node, inputs=inputs, types=types, regions={"body": body})
