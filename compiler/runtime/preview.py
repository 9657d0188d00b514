"""Execution preview of a graph, without machine code: the selected implementations and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS
from compiler.runtime.works.arrange import needed
from compiler.runtime.works.kernels import KernelInfo, kernel_infos
from compiler.runtime.works.launch_order import ordered_launches
from compiler.runtime.works.partition import grouped, n_crossings
from compiler.runtime.works.select import (
    CutWork,
    FallbackWork,
    JoinWork,
    RegionWork,
    Selector,
    Unlaunched,
    ViewWork,
    Work,
    inner_works,
)
from compiler.runtime.works.shared import sharing
from compiler.targets.options import CodeOptions
from compiler.targets.target import Target

Fate = Literal["native", "view", "constant", "reference"]
"""The fate of a model's node: generated code, a view of the same memory, nothing at run time
(constant or unused), or the reference."""

FATES: tuple[Fate, ...] = ("native", "view", "constant", "reference")


@dataclass(frozen=True)
class Preview:
    """The selected implementations of a graph in execution order, without compiled code.

    Failures of code generation (a loop nest that LLVM cannot express) are not visible here.
    `kernels` equal the kernels of a program, except that they have no functions.
    """

    works: Sequence[Work]
    kernels: Sequence[KernelInfo]

    @property
    def fallbacks(self) -> list[FallbackWork]:
        """Return the nodes that the reference will run, in order."""
        return [w for w in self.works if isinstance(w, FallbackWork) and not w.is_view]

    @property
    def n_native(self) -> int:
        """Return the number of launches of generated code."""
        return sum(k.native and not k.inside for k in self.kernels)

    @property
    def n_inside(self) -> int:
        """Return the number of kernels inside launches of control flow."""
        return sum(bool(k.inside) for k in self.kernels)

    @property
    def n_crossings(self) -> int:
        """Return how often a run changes between generated code and the reference."""
        return n_crossings(self.works)

    @property
    def flops(self) -> int:
        """Return the operations of one run, for operators that declare costs."""
        return sum(k.flops for k in self.kernels)

    @property
    def native_flops(self) -> int:
        """Return the operations that generated code executes."""
        return sum(k.flops for k in self.kernels if k.native)

    @property
    def n_uncounted(self) -> int:
        """Return the number of reference nodes whose operators declare no cost."""
        return sum(not _is_counted(w.node) for w in self.fallbacks)


def preview(graph: Graph, target: Target) -> Preview:
    """Preview the execution of an optimised graph of known sizes."""
    options = CodeOptions(target)
    works = sharing(graph, grouped(list(Selector(graph, options).works())), options.order)
    works = ordered_launches(works, needed(graph, works), (), options.order).works
    launched = [w for w in works if not isinstance(w, Unlaunched)]
    nameless = {id(w.scheduled.kernel): "" for w in inner_works(works)}
    return Preview(works, kernel_infos(launched, graph, {}, {}, nameless))


def _is_counted(node: Node) -> bool:
    inner = node.regions["body"].nodes if node.op == "fusion" else (node,)
    operators = [OPERATORS.get(n.op) for n in inner]
    return all(o is not None and o.cost_fn is not None for o in operators)


def fates(source: Graph, preview: Preview) -> dict[str, Counter[Fate]]:
    """Count the fates of nodes, by operator of the imported model.

    A node's implementation is found by the node's origins and, if several implementations have
    these origins, by the operator. The reference also runs all nodes inside a node that it runs.
    """
    by_origin: dict[str, list[Work]] = {}
    for work in _with_inner(preview.works):
        for origin in work.node.origins:
            by_origin.setdefault(origin, []).append(work)
    found: dict[str, Counter[Fate]] = {}

    def visit(nodes: Iterable[Node], around: Fate | None) -> None:
        for node in nodes:
            works = [w for o in node.origins for w in by_origin.get(o, ())]
            fate = around or _fate(node, works)
            found.setdefault(node.op, Counter())[fate] += 1
            for region in node.regions.values():
                visit(region.nodes, "reference" if fate == "reference" else None)

    visit(source.nodes, None)
    return found


def _with_inner(works: Iterable[Work]) -> Iterator[Work]:
    for work in works:
        yield work
        if isinstance(work, RegionWork):
            for body in work.bodies.values():
                yield from _with_inner(body.works)


def _fate(node: Node, works: Sequence[Work]) -> Fate:
    same = [w for w in works if node.op in _operators(w.node)]
    kinds = {type(w) for w in same or works}
    if FallbackWork in kinds:
        return "reference"
    if kinds - {ViewWork, CutWork, JoinWork}:
        return "native"
    return "view" if kinds else "constant"


def _operators(node: Node) -> Iterator[str]:
    yield node.op
    if node.op == "fusion":
        yield from (n.op for n in node.regions["body"].nodes)
