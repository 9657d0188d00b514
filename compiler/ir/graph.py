"""The graph: immutable, in SSA form by name, with typed values, constants and regions.

Passes map a graph to a graph; the two graphs share unchanged nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Any

from compiler.dataclass import dataclass
from compiler.ir.constant import Constant
from compiler.ir.types import TensorType, Type

Attribute = Any
"""An attribute: int, float, bool, str, bytes, DType, Type, Constant, None, or a tuple of these."""


@dataclass(frozen=True, slots=True)
class Value:
    """A named value with its type: a graph input or an operand."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Result:
    """An output of a graph: its public name, and the returned value."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One application of an operator.

    `inputs` are names of values; the name of an omitted operand is "". `origins` are the names of
    the ONNX nodes that this node implements (n:m). `regions` are the bodies of control flow and of
    fusions.
    """

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    types: tuple[Type, ...]
    attrs: Mapping[str, Attribute] = field(default_factory=dict)
    name: str = ""
    origins: tuple[str, ...] = ()
    regions: Mapping[str, Graph] = field(default_factory=dict)

    @property
    def output(self) -> str:
        """The first output that is not omitted, which identifies the node in SSA form."""
        return self.outputs[0] or next(o for o in self.outputs if o)

    @property
    def type(self) -> Type:
        """The type of the first output that is not omitted."""
        return next(t for o, t in zip(self.outputs, self.types, strict=True) if o)

    @property
    def tensor(self) -> TensorType:
        """The type of the first output, which must be a tensor."""
        assert isinstance(self.type, TensorType), f"{self.name} returns {self.type}, not a tensor"
        return self.type

    @property
    def reads(self) -> tuple[str, ...]:
        """All values that the node reads, including the captures of its regions."""
        captured = (n for region in self.regions.values() for n in region.free_names)
        return (*filter(None, self.inputs), *captured)

    def values(self) -> Iterator[Value]:
        """Yield the outputs that are not omitted, with their types."""
        for name, t in zip(self.outputs, self.types, strict=True):
            if name:
                yield Value(name, t)

    def with_inputs(self, rename: Mapping[str, str]) -> Node:
        """Rename the node's operands; operands without an entry keep their names."""
        regions = {k: g.rename_free(rename) for k, g in self.regions.items()}
        return replace(self, inputs=tuple(rename.get(i, i) for i in self.inputs), regions=regions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and (
            self is other
            or (_facts(self) == _facts(other) and _same_attrs(self.attrs, other.attrs))
        )

    def __hash__(self) -> int:
        return hash((self.op, self.outputs))


def _facts(n: Node) -> tuple[Any, ...]:
    return (n.op, n.inputs, n.outputs, n.types, n.name, n.origins, dict(n.regions))


def _same_attrs(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return dict(a) == dict(b) or (
        a.keys() == b.keys() and all(_same_attr(v, b[k]) for k, v in a.items())
    )


def _same_attr(a: Any, b: Any) -> bool:
    """Return whether two values of an attribute are equal; unlike in Python, NaN equals itself."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same_attr, a, b))  # type: ignore[arg-type]
    if isinstance(a, float) and isinstance(b, float) and a != a:
        return b != b
    return bool(a == b)


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in topological order, with named inputs, results and constants."""

    name: str
    inputs: tuple[Value, ...]
    results: tuple[Result, ...]
    nodes: tuple[Node, ...]
    constants: Mapping[str, Constant] = field(default_factory=dict)

    @cached_property
    def types(self) -> Mapping[str, Type]:
        """The type of every value: inputs, constants and node outputs."""
        found: dict[str, Type] = {v.name: v.type for v in self.inputs}
        found.update((k, c.type) for k, c in self.constants.items())
        for node in self.nodes:
            found.update(zip(node.outputs, node.types, strict=True))
        found.pop("", None)
        return found

    @cached_property
    def producers(self) -> Mapping[str, Node]:
        """The node that defines each value."""
        return {o: n for n in self.nodes for o in n.outputs if o}

    @cached_property
    def users(self) -> Mapping[str, tuple[Node, ...]]:
        """For each value, the distinct nodes that read it, in order; graph results do not count."""
        found: dict[str, dict[int, Node]] = {}
        for n in self.nodes:
            for name in n.reads:
                found.setdefault(name, {})[id(n)] = n
        return {k: tuple(v.values()) for k, v in found.items()}

    @cached_property
    def last_uses(self) -> tuple[tuple[str, ...], ...]:
        """For each node, the values that no later node reads; uses as graph results are ignored."""
        seen: set[str] = set()
        found: list[tuple[str, ...]] = []
        for n in reversed(self.nodes):
            names = dict.fromkeys((*n.reads, *filter(None, n.outputs)))
            found.append(tuple(name for name in names if name not in seen))
            seen.update(names)
        return tuple(reversed(found))

    @cached_property
    def result_values(self) -> frozenset[str]:
        """The values that the graph returns."""
        return frozenset(r.value for r in self.results)

    @cached_property
    def free_names(self) -> tuple[str, ...]:
        """The values that a region captures from the enclosing graph."""
        defined = set(self.types)
        read = dict.fromkeys(n for node in self.nodes for n in node.reads)
        read.update(dict.fromkeys(r.value for r in self.results))
        return tuple(n for n in read if n not in defined)

    def rename_free(self, rename: Mapping[str, str]) -> Graph:
        """Rename the captured values of a region."""
        hit = {n: rename[n] for n in self.free_names if n in rename}
        if not hit:
            return self
        return replace(
            self,
            nodes=tuple(n.with_inputs(hit) for n in self.nodes),
            results=tuple(Result(r.name, hit.get(r.value, r.value)) for r in self.results),
        )

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The results under their public names, with their types."""
        return tuple(Value(r.name, self.types[r.value]) for r in self.results)

    def node(self, name: str) -> Node:
        """Return the node with this name or output. Errors: KeyError."""
        found = self.producers.get(name) or next((n for n in self.nodes if n.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def __str__(self) -> str:
        from compiler.ir.text import print_graph

        return print_graph(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and (
            self is other
            or (
                (self.name, self.inputs, self.results) == (other.name, other.inputs, other.results)
                and self.nodes == other.nodes
                and dict(self.constants) == dict(other.constants)
            )
        )

    def __hash__(self) -> int:
        return hash((self.name, len(self.nodes)))


def merge_origins(*groups: Iterable[str]) -> tuple[str, ...]:
    """Merge groups of origins; each name occurs once, in order."""
    return tuple(dict.fromkeys(o for group in groups for o in group))


def names_inside(graph: Graph) -> Iterator[str]:
    """Yield every name that a graph or a nested region defines."""
    yield from graph.types
    for node in graph.nodes:
        for region in node.regions.values():
            yield from names_inside(region)


def all_nodes(graph: Graph) -> Iterator[Node]:
    """Yield the nodes of a graph and of its regions in pre-order."""
    pending = list(reversed(graph.nodes))
    while pending:
        n = pending.pop()
        yield n
        for region in n.regions.values():
            pending.extend(reversed(region.nodes))
