"""Extraction of the cheapest terms of an e-graph; shared terms count once.

Bottom up, each class selects the node with the lowest cost, including the costs of its operands.
The cost is that of the set of required classes, so shared classes count once. Then local search
changes single choices as long as a change lowers the total cost of all results. Optimal extraction
is NP-hard (Stepp 2011; see also He, Haghighat et al. 2023 on extraction); this heuristic finds a
good solution quickly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from compiler.dataclass import dataclass
from compiler.ir.constant import Constant
from compiler.ir.graph import Node
from compiler.ir.operator import OPERATORS, Cost
from compiler.ir.types import TensorType
from compiler.passes.engine.cost import CORE, node_cost
from compiler.passes.equality_saturation.egraph import EGraph, ENode
from compiler.passes.equality_saturation.terms import Region, Vocabulary, operands_of, result_type

MAX_IMPROVEMENTS = 40
"""Largest number of choices that local search changes after the first extraction."""


@dataclass(slots=True)
class Costs:
    """Costs of nodes: picoseconds by the roofline model, 0 for constant expressions."""

    egraph: EGraph
    constants: Mapping[str, Constant]
    constant: dict[str, bool] = field(default_factory=dict)
    known: dict[ENode, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the classes that depend only on constants."""
        changed = True
        while changed:
            changed = False
            for c in self.egraph.classes.values():
                if not self.constant.get(c.name) and any(map(self._is_constant, c.nodes)):
                    self.constant[c.name] = changed = True

    def _is_constant(self, n: ENode) -> bool:
        if not n.op:
            return n.attrs in self.constants
        return all(self.constant.get(i) for i in n.operands)

    def of(self, n: ENode, made: TensorType | None) -> int | None:
        """Return the cost of a node in picoseconds, or None if its operands have illegal types."""
        if n not in self.known:
            self.known[n] = self._cost(n, made)
        return self.known[n]

    def _cost(self, n: ENode, made: TensorType | None) -> int | None:
        if not n.op:
            return 0
        operands = [self.egraph.classes[i].type for i in n.operands]
        types = [t for t in operands if t is not None]
        attrs = self.egraph.attrs[n.attrs]
        if made is None or len(types) < len(operands) or result_type(n.op, attrs, types) != made:
            return None
        if self._is_constant(n) and made.nbytes <= sum(t.nbytes for t in types):
            return 0
        if OPERATORS[n.op].kind == "view":
            return 0
        names = [str(i) for i in range(len(types))]
        bound = OPERATORS[n.op].bind(attrs)
        node = Node(n.op, tuple(names), ("r",), (made,), bound)
        cost = node_cost(node, dict(zip(names, types, strict=True)).__getitem__)
        return round(CORE.seconds(cost or Cost()) * 1e12)


@dataclass(slots=True)
class Extraction:
    """The selected node of each class that the results need, and the total cost."""

    picked: dict[str, ENode]
    cost: int


def extract(egraph: EGraph, costs: Costs, roots: Sequence[str]) -> Extraction | None:
    """Extract the cheapest terms for several classes jointly; None if a class has no term."""
    picked = _bottom_up(egraph, costs)
    best = _needed(picked, costs, egraph, roots)
    for _ in range(MAX_IMPROVEMENTS if best is not None else 0):
        assert best is not None
        better = _improved(egraph, costs, roots, picked, best)
        if better is None:
            break
        picked, best = better
    return best


def given(region: Region, egraph: EGraph, costs: Costs) -> int:
    """Return the total cost of the nodes of a region, each counted once."""
    total = 0
    for node in region.nodes:
        operands = tuple(egraph.of_value[i] for i in operands_of(node))
        n = ENode(node.op, Vocabulary().attributes(node), operands)
        total += costs.of(n, egraph.classes[egraph.of_value[node.output]].type) or 0
    return total


def _bottom_up(egraph: EGraph, costs: Costs) -> dict[str, ENode]:
    """Map each class to the node that requires the cheapest set of classes."""
    sets: dict[str, dict[str, int]] = {}
    totals: dict[str, int] = {}
    picked: dict[str, ENode] = {}
    changed, turns = True, 0
    while changed and turns < len(egraph.classes) + 1:
        changed, turns = False, turns + 1
        for c in egraph.classes.values():
            for n in c.nodes:
                own = costs.of(n, c.type)
                if own is None or any(i not in sets for i in n.operands):
                    continue
                needed = {k: v for i in n.operands for k, v in sets[i].items()}
                if c.name in needed:
                    continue
                total = own + sum(needed.values())
                if c.name not in totals or total < totals[c.name]:
                    needed[c.name] = own
                    sets[c.name], totals[c.name], picked[c.name] = needed, total, n
                    changed = True
    return picked


def _needed(
    picked: Mapping[str, ENode], costs: Costs, egraph: EGraph, roots: Iterable[str]
) -> Extraction | None:
    """Return the classes that the roots need, and their cost; None for a cycle or missing node."""
    done: dict[str, ENode] = {}
    open_: set[str] = set()
    total = 0
    stack = list(dict.fromkeys(roots))
    while stack:
        name = stack[-1]
        if name in done:
            stack.pop()
            continue
        n = picked.get(name)
        own = None if n is None else costs.of(n, egraph.classes[name].type)
        if n is None or own is None:
            return None
        waiting = [i for i in n.operands if i not in done]
        if waiting:
            if name in open_:
                return None
            open_.add(name)
            stack += waiting
            continue
        done[name] = n
        total += own
        stack.pop()
    return Extraction(done, total)


def _improved(
    egraph: EGraph,
    costs: Costs,
    roots: Sequence[str],
    picked: dict[str, ENode],
    best: Extraction,
) -> tuple[dict[str, ENode], Extraction] | None:
    """Return the first single change that lowers the total cost of the results."""
    for name in best.picked:
        for n in egraph.classes[name].nodes:
            if n == picked[name] or any(i not in picked for i in n.operands):
                continue
            choice = {**picked, name: n}
            other = _needed(choice, costs, egraph, roots)
            if other is not None and other.cost < best.cost:
                return choice, other
    return None
