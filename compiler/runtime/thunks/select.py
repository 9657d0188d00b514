"""Selection of each node's implementation: a view, generated code, or a fallback."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from compiler.compute.computation import Computation
from compiler.compute.decompose import decomposition
from compiler.compute.lower import Lowered, lower_node
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import Graph, Node
from compiler.ir.infer import KNOWN_LIMIT
from compiler.ir.operator import OPERATORS
from compiler.ir.regions import close
from compiler.ir.types import DType, TensorType, Type
from compiler.ir.verify import verify
from compiler.loops.limits import NotLowerable, check_kernel
from compiler.memory.views import Span
from compiler.ops.control_flow.control import CONTROL_FLOW
from compiler.ops.control_flow.loop_form import unfit
from compiler.runtime.frame import in_memory
from compiler.schedule.policy import Scheduled, schedule

if TYPE_CHECKING:
    from compiler.targets.options import CodeOptions


@dataclass(frozen=True, slots=True)
class ViewThunk:
    """A view: the result is the operand's memory with another shape. Views need no launch."""

    node: Node
    source: str


@dataclass(frozen=True, slots=True)
class CutThunk:
    """A cut: each result is a byte range of the operand (`cuts`, by name). Cuts need no launch."""

    node: Node
    cuts: Mapping[str, Span]


@dataclass(frozen=True, slots=True)
class JoinThunk:
    """A join: operands are written directly into the result, as its parts. Joins need no launch."""

    node: Node
    parts: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class NativeThunk:
    """A node that one generated kernel computes; `sizes` maps size symbols to known numbers."""

    node: Node
    lowered: Lowered
    scheduled: Scheduled
    sizes: Mapping[str, int] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FallbackThunk:
    """A node that the reference implementation runs, and the reason."""

    node: Node
    because: str

    @property
    def is_view(self) -> bool:
        """Return whether the node returns a buffer's prefix, of a length known only at run time."""
        return is_handed_out(self.node)


@dataclass(frozen=True, slots=True)
class Body:
    """A closed region or an operator's composition, and its captured inputs and implementations."""

    graph: Graph
    captured: tuple[str, ...]
    thunks: tuple[Thunk, ...]

    def launches(self) -> list[Launched]:
        """Return the implementations that are launches; a body contains no fallbacks."""
        return [w for w in self.thunks if isinstance(w, NativeThunk | RegionThunk)]


@dataclass(frozen=True, slots=True)
class RegionThunk:
    """A node that runs as one launch, because all of its regions are generated code."""

    node: Node
    bodies: Mapping[str, Body]

    @property
    def operands(self) -> tuple[str, ...]:
        """Return the distinct values that the launch reads: operands, then captures of the bodies.

        The body of a composition reads operands by name; these reads count as captures.
        """
        own = self.node.inputs if self.node.regions else ()
        captured = (c for body in self.bodies.values() for c in body.captured)
        return tuple(dict.fromkeys((*filter(None, own), *captured)))


Launched = NativeThunk | RegionThunk
"""Implementations that generated code runs."""

Unlaunched = ViewThunk | CutThunk | JoinThunk
"""Implementations without a launch: their results use the memory of other values."""

Thunk = Unlaunched | NativeThunk | RegionThunk | FallbackThunk


def inner_thunks(thunks: Iterable[Thunk]) -> Iterator[NativeThunk]:
    """Yield the implementations that are kernels, including kernels inside regions, in order."""
    for thunk in thunks:
        if isinstance(thunk, NativeThunk):
            yield thunk
        elif isinstance(thunk, RegionThunk):
            for body in thunk.bodies.values():
                yield from inner_thunks(body.thunks)


def bodies(thunks: Iterable[Thunk]) -> Iterator[Body]:
    """Yield the bodies of implementations, including nested bodies."""
    for thunk in thunks:
        if isinstance(thunk, RegionThunk):
            for body in thunk.bodies.values():
                yield body
                yield from bodies(body.thunks)


class Selector:
    """Selects implementations of nodes for one target; equal computations share a schedule."""

    def __init__(self, graph: Graph, options: CodeOptions, around: Selector | None = None) -> None:
        self.graph = graph
        self.options = options
        self._scheduled: dict[tuple[str, frozenset[str]], Scheduled] = (
            around._scheduled if around else {}
        )

    def thunks(self) -> Iterator[Thunk]:
        """Yield the implementation of each node, in order."""
        for node in self.graph.nodes:
            yield self.thunk(node)

    def thunk(self, node: Node) -> Thunk:
        """Choose the implementation of one node."""
        source = view_source(node, self.graph)
        if source is not None:
            return ViewThunk(node, source)
        if node.op in CONTROL_FLOW:
            return self._region(node)
        obstacle = without_lowering(node) or self._obstacle(node)
        if obstacle:
            return FallbackThunk(node, obstacle)
        lowered = lower_node(node, self.graph)
        if lowered is None and is_composition(node):
            return self._composition(node)
        if lowered is None:
            return FallbackThunk(node, f"{node.op} has no lowering to loops for these operands")
        try:
            scheduled = self._schedule(lowered)
        except NotLowerable as e:
            return FallbackThunk(node, str(e))
        except CompileError as e:
            if e.code != "E-SCHEDULE-MOVE":
                raise
            return FallbackThunk(node, f"no schedule fits: {e.message}")
        return NativeThunk(node, lowered, scheduled)

    def _obstacle(self, node: Node) -> str:
        """Return the reason why a node's types do not permit a kernel; "" if they permit it."""
        types: Mapping[str, Type] = self.graph.types
        for name, t in [*((i, types[i]) for i in node.reads), *_outputs(node)]:
            if not isinstance(t, TensorType):
                return f"{name} is {t}, which is not a tensor"
            unknown = self._unknown(name, t)
            if unknown:
                return unknown
            if t.dtype is DType.string:
                return f"{name} holds strings"
        return ""

    def _unknown(self, name: str, t: TensorType) -> str:
        """Return a message if a value's type is not sufficiently known for a kernel, else ""."""
        if t.is_static:
            return ""
        return f"the shape of {name}, {t}, is known only when the program runs"

    def _region(self, node: Node) -> Thunk:
        """Choose the implementation of a node with regions: a launch if all regions have code."""
        obstacle = unfit(node, self.graph) or self._obstacle(node)
        if obstacle:
            return FallbackThunk(node, obstacle)
        bodies: dict[str, Body] = {}
        for key, region in node.regions.items():
            closed = close(region, self.graph.types, self.graph.constants)
            try:
                verify(closed.graph)
            except CompileError as e:
                # The node fails at run time, if it is ever executed.
                return FallbackThunk(node, f"in {key}: {e.message}")
            body = self._body(closed.graph, closed.captured)
            if isinstance(body, str):
                return FallbackThunk(node, f"in {key}, {body}")
            bodies[key] = body
        return RegionThunk(node, bodies)

    def _composition(self, node: Node) -> Thunk:
        """Choose the implementation of a node that several kernels compute in sequence."""
        types = {i: t for i in node.inputs if isinstance(t := self.graph.types.get(i), TensorType)}
        constants = {i: c for i in node.inputs if (c := self.graph.constants.get(i)) is not None}
        small = {i: c for i, c in constants.items() if c.type.n_elements <= KNOWN_LIMIT}
        made = decomposition(node, types, lambda i: small[i].array() if i in small else None)
        inputs = tuple(v for v in made.inputs if v.name not in constants)
        made = dataclasses.replace(made, inputs=inputs, constants={**made.constants, **constants})
        body = self._body(made, tuple(v.name for v in inputs))
        if isinstance(body, str):
            return FallbackThunk(node, f"inside, {body}")
        return RegionThunk(node, {"steps": body})

    def _body(self, graph: Graph, captured: tuple[str, ...]) -> Body | str:
        """Return a closed graph as the body of a launch, or the obstacle as text."""
        thunks: list[Thunk] = []
        for thunk in type(self)(graph, self.options, self).thunks():
            if isinstance(thunk, FallbackThunk):
                return f"{thunk.node.output}: {thunk.because}"
            thunks.append(thunk)
        return Body(graph, captured, tuple(thunks))

    def _schedule(self, lowered: Lowered) -> Scheduled:
        computation = lowered.computation
        constants = frozenset(
            t for t, value in lowered.operands.items() if value in self.graph.constants
        )
        key = (_text(computation), constants)
        if key not in self._scheduled:
            found = schedule(computation, constants, self.options)
            check_kernel(found.kernel)
            self._scheduled[key] = found
        return self._scheduled[key]


def is_composition(node: Node) -> bool:
    """Return whether a node can be decomposed into other nodes."""
    operator = OPERATORS.get(node.op)
    return operator is not None and operator.decompose_fn is not None


def _text(computation: Computation) -> str:
    """Return the text of a computation without origins, which do not affect the schedule."""
    return str(dataclasses.replace(computation, origins=()))


def is_handed_out(node: Node) -> bool:
    """Return whether a node's result is a prefix of the operand, which the runtime slices."""
    return node.op == "leading"


def view_source(node: Node, graph: Graph) -> str | None:
    """Return a view's operand if the view has the same bytes in plain layout, else None."""
    source = plain_view(node, graph, in_memory)
    if source is None:
        return None
    before, after = graph.types[source], node.types[0]
    assert isinstance(before, TensorType), f"{source} is {before}"
    assert isinstance(after, TensorType), f"{node.output} is {after}"
    return source if before.nbytes == after.nbytes else None


def plain_view(node: Node, graph: Graph, has_place: Callable[[Type | None], bool]) -> str | None:
    """Return a view's operand if both have the same element type and memory in plain layout."""
    operator = OPERATORS.get(node.op)
    if operator is None or operator.kind != "view" or len(node.outputs) != 1 or not node.inputs:
        return None
    source = node.inputs[0]
    before, after = graph.types.get(source), node.types[0]
    if source in graph.constants or not (has_place(before) and has_place(after)):
        return None
    assert isinstance(before, TensorType), f"{source} is {before}"
    assert isinstance(after, TensorType), f"{node.output} is {after}"
    plain = before.layout.is_plain and after.layout.is_plain
    return source if plain and before.dtype is after.dtype else None


def _outputs(node: Node) -> Iterator[tuple[str, Type]]:
    for value in node.values():
        yield value.name, value.type


def without_lowering(node: Node) -> str:
    """Return the reason for a fallback if an operator in a node has no lowering, else ""."""
    inner = node.regions["body"].nodes if node.op == "fusion" else (node,)
    for n in inner:
        operator = OPERATORS.get(n.op)
        if operator is None or (operator.lower_fn is None and operator.decompose_fn is None):
            return f"{n.op} has no lowering to loops"
    return ""
