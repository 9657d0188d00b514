"""Execution preview of a graph, without machine code: the selected implementations and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph, Node
from compiler.memory.buffer import Plan
from compiler.runtime.thunks.arrange import needed
from compiler.runtime.thunks.bodies import compiled_bodies
from compiler.runtime.thunks.kernels import KernelInfo, inner_infos, kernel_infos
from compiler.runtime.thunks.launch_order import ordered_launches
from compiler.runtime.thunks.partition import grouped
from compiler.runtime.thunks.select import (
    CutThunk,
    FallbackThunk,
    JoinThunk,
    RegionThunk,
    Selector,
    Thunk,
    Unlaunched,
    ViewThunk,
    inner_thunks,
)
from compiler.runtime.thunks.shared import sharing
from compiler.targets.options import CodeOptions
from compiler.targets.target import Target

Fate = Literal["native", "view", "constant", "reference"]
"""The fate of a model's node.

- "native": generated code
- "view": a view of the same memory
- "constant": nothing at run time, because the node is constant or unused
- "reference": the reference implementation
"""

FATES: tuple[Fate, ...] = ("native", "view", "constant", "reference")


@dataclass(frozen=True)
class Preview:
    """The selected implementations of a graph in execution order, without compiled code.

    Failures of code generation (a loop nest that LLVM cannot express) are not visible here.
    `kernels` equal the kernels of a program, except that they have no functions. `plan` is the
    plan of the program's arena.
    """

    thunks: Sequence[Thunk]
    kernels: Sequence[KernelInfo]
    plan: Plan

    @property
    def fallbacks(self) -> list[FallbackThunk]:
        """Return the nodes that the reference implementation will run, in order."""
        return [w for w in self.thunks if isinstance(w, FallbackThunk) and not w.is_view]


def preview(
    graph: Graph, target: Target, order: str = "best", memory_limit_bytes: int | None = None
) -> Preview:
    """Preview the execution of an optimised graph of known sizes.

    `order` names the method that orders the launches. Within a memory limit, values are recomputed.
    Errors: E-LIMIT-ARENA for a limit below the smallest arena.
    """
    options = CodeOptions(target, order=order)
    selector = Selector(graph, options)
    thunks = grouped(list(selector.thunks()))
    if memory_limit_bytes is None:
        thunks = sharing(graph, thunks, order)
    else:
        from compiler.runtime.thunks.memory_limit import within_limit

        def select(again: Graph) -> list[Thunk]:
            return grouped(list(Selector(again, options, selector).thunks()))

        limited = within_limit(graph, thunks, memory_limit_bytes, target, order, select)
        graph, thunks = limited.graph, limited.thunks
    ordered = ordered_launches(thunks, needed(graph, thunks), (), options.order)
    thunks = ordered.thunks
    launched = [w for w in thunks if not isinstance(w, Unlaunched)]
    nameless = {id(w.scheduled.kernel): "" for w in inner_thunks(thunks)}
    kernels = kernel_infos(launched, graph, {}, {}, nameless)
    inside = (
        k
        for thunk, around in zip(launched, kernels, strict=False)
        for key, closed in compiled_bodies(thunk, graph)
        for k in inner_infos(preview(closed.graph, target).kernels, around.name, key)
    )
    return Preview(thunks, (*kernels, *inside), ordered.arrangement.plan)


def fates(source: Graph, preview: Preview) -> dict[str, Counter[Fate]]:
    """Count the fates of nodes, by operator of the imported model.

    A node's implementation is found by the node's origins and, if several implementations have
    these origins, by the operator. If the reference implementation runs a node, it also runs all
    nodes inside this node.
    """
    by_origin: dict[str, list[Thunk]] = {}
    for thunk in _with_inner(preview.thunks):
        for origin in thunk.node.origins:
            by_origin.setdefault(origin, []).append(thunk)
    found: dict[str, Counter[Fate]] = {}

    def visit(nodes: Iterable[Node], around: Fate | None) -> None:
        for node in nodes:
            thunks = [w for o in node.origins for w in by_origin.get(o, ())]
            fate = around or _fate(node, thunks)
            found.setdefault(node.op, Counter())[fate] += 1
            for region in node.regions.values():
                visit(region.nodes, "reference" if fate == "reference" else None)

    visit(source.nodes, None)
    return found


def _with_inner(thunks: Iterable[Thunk]) -> Iterator[Thunk]:
    for thunk in thunks:
        yield thunk
        if isinstance(thunk, RegionThunk):
            for body in thunk.bodies.values():
                yield from _with_inner(body.thunks)


def _fate(node: Node, thunks: Sequence[Thunk]) -> Fate:
    same = [w for w in thunks if node.op in _operators(w.node)]
    kinds = {type(w) for w in same or thunks}
    if FallbackThunk in kinds:
        return "reference"
    if kinds - {ViewThunk, CutThunk, JoinThunk}:
        return "native"
    return "view" if kinds else "constant"


def _operators(node: Node) -> Iterator[str]:
    yield node.op
    if node.op == "fusion":
        yield from (n.op for n in node.regions["body"].nodes)
