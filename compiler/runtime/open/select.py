"""Implementation selection for open sizes; kernels take sizes as arguments."""

from __future__ import annotations

from compiler.compute.lower import lower_node
from compiler.errors import CompileError
from compiler.ir.affine import Undecided
from compiler.ir.graph import Graph, Node
from compiler.ir.types import DType, TensorType, Type, open_symbols
from compiler.loops.limits import NotLowerable
from compiler.ops.control_flow.control import CONTROL_FLOW
from compiler.runtime.thunks.select import (
    Body,
    FallbackThunk,
    NativeThunk,
    Selector,
    Thunk,
    ViewThunk,
    is_composition,
    plain_view,
    without_lowering,
)


class OpenSelector(Selector):
    """Chooses implementations of nodes whose sizes may be symbols."""

    def thunk(self, node: Node) -> Thunk:
        """Choose the implementation of one node."""
        if not open_symbols(_types(node, self.graph)):
            return super().thunk(node)
        source = open_view_source(node, self.graph)
        if source is not None:
            return ViewThunk(node, source)
        if node.op in CONTROL_FLOW:
            return self._region(node)
        obstacle = without_lowering(node) or self._obstacle(node)
        if obstacle:
            return FallbackThunk(node, obstacle)
        try:
            return self._native(node)
        except (NotLowerable, CompileError) as e:
            return FallbackThunk(node, f"no code for open sizes: {e}")
        except Exception as e:  # a facet may require constant sizes and raise any error for symbols
            return FallbackThunk(node, f"{node.op} does not support open sizes: {e}")

    def _body(self, graph: Graph, captured: tuple[str, ...]) -> Body | str:
        strays = _symbols(graph) - _symbols(self.graph)
        if strays:
            return f"sizes are known only inside the loop or branch: {', '.join(sorted(strays))}"
        return super()._body(graph, captured)

    def _unknown(self, name: str, t: TensorType) -> str:
        return "" if t.is_ranked else f"the rank of {name} is known only when the program runs"

    def _native(self, node: Node) -> Thunk:
        try:
            lowered = lower_node(node, self.graph)
        except Undecided:
            if not is_composition(node):
                raise
            lowered = None
        if lowered is None and is_composition(node):
            return self._composition(node)
        if lowered is None:
            return FallbackThunk(node, f"{node.op} has no lowering to loops for these operands")
        scheduled = self._schedule(lowered)
        strays = set(scheduled.kernel.sizes) - lowered.sizes.keys()
        if strays:
            return FallbackThunk(
                node, f"loop bounds contain unknown sizes: {', '.join(sorted(strays))}"
            )
        return NativeThunk(node, lowered, scheduled)


def open_view_source(node: Node, graph: Graph) -> str | None:
    """Return the source as `view_source` does; a run-time check compares the element counts."""
    return plain_view(node, graph, is_sized)


def is_sized(t: Type | None) -> bool:
    """Return whether size symbols determine the size in bytes of values of a type."""
    return isinstance(t, TensorType) and t.is_ranked and t.dtype is not DType.string


def _symbols(graph: Graph) -> frozenset[str]:
    """Return all size symbols of a graph, except symbols that occur only in regions of nodes."""
    return open_symbols(
        [*(v.type for v in graph.inputs), *(t for n in graph.nodes for t in n.types)]
    )


def _types(node: Node, graph: Graph) -> list[Type]:
    return [*(graph.types[i] for i in node.reads), *node.types]
