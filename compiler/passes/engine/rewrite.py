"""The rewrite engine: applies rules until nothing changes.

Every rewrite and every declined match becomes a step in the log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, merge_origins
from compiler.ir.operator import Call, Cost, Operand, Out, Tensor
from compiler.ir.types import TensorType, Type, logical
from compiler.ir.verify import refines
from compiler.limits import check
from compiler.passes.engine.cost import TRAFFIC, bytes_saved, cost_of, traffic_text
from compiler.passes.engine.excerpt import behind_facts, excerpt
from compiler.passes.engine.matching import ConstName, Match, match, operands
from compiler.passes.engine.pattern import depth, roots
from compiler.passes.engine.rule import Because, Rule, Skip
from compiler.trace import Log
from compiler.units import count_text

REQUEUE_LIMIT = 256
"""Limit on the number of values revisited around a rewrite: the total time stays near-linear."""


def apply_rules(
    graph: Graph,
    rules: Sequence[Rule],
    log: Log,
    *,
    until: str = "fixpoint",
    at_most: int = 20,
    inexact: bool = True,
) -> Graph:
    """Apply rules wherever they match; `until="once"` does not revisit the results of rewrites.

    Stop after `at_most` rewrites per node of the graph, and record the stop in the log.
    """
    engine = _Engine(graph, rules, log, inexact)
    engine.run(until == "fixpoint", at_most * max(len(graph.nodes), 1))
    return engine.ed.graph() if engine.n_applied else graph


class _Engine:
    """A worklist of nodes over an editor."""

    def __init__(self, graph: Graph, rules: Sequence[Rule], log: Log, inexact: bool) -> None:
        self.ed = Editor(graph)
        self.log = log
        self.inexact = inexact
        self.by_root: dict[str, list[Rule]] = {}
        for r in rules:
            for name in roots(r.pattern):
                self.by_root.setdefault(name, []).append(r)
        self.reach = max((depth(r.pattern) for r in rules), default=1)
        self.work: deque[str] = deque()
        self.queued: set[str] = set()
        self.declined: set[tuple[str, str, str]] = set()
        self.n_applied = 0
        for n in graph.nodes:
            self.push(n)

    def push(self, node: Node) -> None:
        if node.op in self.by_root and node.output not in self.queued:
            self.queued.add(node.output)
            self.work.append(node.output)

    def run(self, again: bool, budget: int) -> None:
        while self.work:
            key = self.work.popleft()
            self.queued.discard(key)
            node = self.ed.producer(key)
            if node is None or not self.ed.n_uses(key):
                continue
            check()
            if self.n_applied >= budget:
                self.log.declined(
                    "budget",
                    key,
                    f"the limit of {budget:,} rewrites is reached, so other matches stay unchanged",
                    [node],
                )
                return
            changed = self.visit(node)
            if again:
                self.requeue(changed)

    def visit(self, node: Node) -> list[str]:
        """Try each rule at a node; return the values around which the graph changed."""
        for r in self.by_root.get(node.op, ()):
            for m in match(self.ed, r.pattern, node):
                around = self.attempt(r, node, m)
                if around:
                    self.n_applied += 1
                    return around
        return []

    def requeue(self, values: Iterable[str]) -> None:
        """Enqueue the producers of new values, and nodes from which patterns reach these values."""
        frontier, seen = dict.fromkeys(values), 0
        for _ in range(self.reach + 1):
            following: dict[str, None] = {}
            for value in frontier:
                node = self.ed.producer(value)
                if node is not None:
                    self.push(node)
                for user in self.ed.users(value):
                    following[user.output] = None
                seen += 1
                if seen > REQUEUE_LIMIT:
                    return
            frontier = following

    def attempt(self, r: Rule, root: Node, m: Match) -> list[str]:
        """Apply a rule to a match; return the changed values, or [] if the rewrite was declined."""
        reason = self.objection(r, root, m)
        if reason:
            return self.decline(r, root, m, reason)
        given = operands(self.ed, m)
        if r.result:
            given[r.result] = logical(root.type)
        result = r.body(**given)
        because = ""
        if isinstance(result, Because):
            result, because = result.value, result.because
        if isinstance(result, Skip):
            return self.decline(r, root, m, result.because)
        if not self.log.may(r.name, root.output):
            return []
        return self.apply(r, root, m, result, because)

    def objection(self, r: Rule, root: Node, m: Match) -> str:
        """Return the engine's reason against rewriting a match, or "" if there is none."""
        if not r.exact and not self.inexact:
            return "results would be rounded differently, and inexact rules are disabled"
        for node in m.nodes:
            for extra in filter(None, node.outputs[1:]):
                if self.ed.n_uses(extra):
                    return f"the additional output {extra} of {node.output} has readers"
        for node in m.nodes[1:] if r.single_use else ():
            if self.ed.is_result(node.output):
                return f"{node.output} is also a result of the graph, so it would be computed twice"
            outside = [u for u in self.ed.users(node.output) if u not in m.nodes]
            if outside:
                uses = self.ed.n_uses(node.output)
                return f"{node.output} has {uses} uses, so it would be computed twice"
        return ""

    def decline(self, r: Rule, root: Node, m: Match, reason: str) -> list[str]:
        if (r.name, root.output, reason) not in self.declined:
            self.declined.add((r.name, root.output, reason))
            self.log.declined(r.name, root.output, reason, _took(m), r.source)
        return []

    def apply(self, r: Rule, root: Node, m: Match, result: Operand, because: str) -> list[str]:
        ed = self.ed
        origins = merge_origins(*(n.origins for n in reversed(m.nodes)))
        ed.made.clear()
        ed.made_constants.clear()
        users = [u.output for u in ed.users(root.output)]
        context = behind_facts(ed, r.pattern, m.bound) if self.log.watch else []
        before = excerpt(ed, [*m.nodes, *context], root.output) if self.log.watch else None
        if isinstance(result, Tensor | Call | Out):
            value, reason = self.put(root, m, result, origins)
        else:
            value, reason = self.put_constant(r, root, result, origins)
        if reason:
            return self.decline(r, root, m, reason)
        parts = [*m.nodes[1:], *context, *ed.made]
        after = excerpt(ed, parts, value) if before is not None else None
        removed = self.record(r, root, m, because)
        if before is not None and after is not None and self.log.watch is not None:
            self.log.watch(self.log.steps[-1], before, after)
        # A value with a single remaining reader may now match a `single_use` rule.
        freed = [
            i
            for i in dict.fromkeys(i for n in (*m.nodes, *removed) for i in n.inputs if i)
            if ed.producer(i) is not None and ed.n_uses(i) <= 1
        ]
        return [root.output, *(n.output for n in ed.made), *users, *freed]

    def record(self, r: Rule, root: Node, m: Match, because: str) -> list[Node]:
        """Remove dead nodes, and record the step with its costs."""
        ed = self.ed
        made = [*ed.made, *ed.made_constants]
        operands = [i for n in m.nodes for i in n.reads]
        removed = ed.remove_unused([*operands, *(n.output for n in m.nodes)])
        gone = [root, *(n for n in removed if n is not root)]
        cost_before = cost_of(gone, ed.type)
        cost_after = cost_of(ed.made, ed.type)
        read = dict.fromkeys(i for n in gone for i in n.reads)
        took = [*_took(m), *(n.output for n in removed)]
        took += [c for c in read if c in ed.constants and not ed.n_uses(c)]
        self.log.applied(
            r.name,
            root.output,
            because.replace(TRAFFIC, traffic_text(bytes_saved(cost_before, cost_after)))
            or _default_reason(r, m, len(ed.made), cost_before, cost_after),
            dict.fromkeys(took),
            made,
            r.error,
            r.source,
            cost_before,
            cost_after,
        )
        return removed

    def put(
        self, root: Node, m: Match, result: Tensor | Call | Out, origins: tuple[str, ...]
    ) -> tuple[str, str]:
        """Replace the root with a value or call; return the replacement, or the objection."""
        ed = self.ed
        value = ed.build(result, hint=root.output, origins=origins)
        node = ed.producer(value)
        if logical(ed.type(value)) != logical(root.type) and not _closes(root.type, ed.type(value)):
            reason = f"{root.output} is {root.type}, but its replacement is {ed.type(value)}"
            ed.remove_unused([n.output for n in reversed(ed.made)])
            return "", reason
        if isinstance(result, Call) and node is not None and len(node.outputs) == 1:
            ed.rename(node, root)
            return root.output, ""
        if logical(ed.type(value)) != logical(root.type):
            reason = f"{root.output} is {root.type}, but {value} is only known as {ed.type(value)}"
            return "", reason
        if isinstance(root.type, TensorType) and root.type.shape is None:
            return "", f"the ranks of {root.output} and {value} are open, so they may differ"
        ed.replace(root.output, value)
        kept = ed.producer(value)
        if kept is not None and kept in m.nodes:
            ed.update(kept, replace(kept, origins=merge_origins(kept.origins, origins)))
        return value, ""

    def put_constant(
        self, r: Rule, root: Node, result: Operand, origins: tuple[str, ...]
    ) -> tuple[str, str]:
        assert isinstance(result, Constant | np.ndarray | np.generic), (
            f"rule {r.name} returned {result!r}, which is no replacement"
        )
        c = result if isinstance(result, Constant) else Constant.of(result)
        if c.type != logical(root.type):
            return "", f"{root.output} is {root.type}, but its replacement is {c.type}"
        self.ed.settle(root, [c.with_origins(origins), *(None for _ in root.outputs[1:])])
        return root.output, ""


def _closes(recorded: Type, inferred: Type) -> bool:
    """Whether the recorded type states sizes that the type rule leaves open."""
    both = isinstance(recorded, TensorType) and isinstance(inferred, TensorType)
    return both and refines(logical(recorded), logical(inferred))


def _took(m: Match) -> list[str]:
    constants = [str(v) for v in m.bound.values() if isinstance(v, ConstName) and v]
    return [*(n.output for n in reversed(m.nodes)), *constants]


def _default_reason(r: Rule, m: Match, n_made: int, before: Cost | None, after: Cost | None) -> str:
    text = f"{r.title.rstrip('.')}: {_effect(len(m.nodes), n_made)}"
    if before is None or after is None:
        return text
    moved = bytes_saved(before, after)
    flops = before.flops - after.flops
    text += f"; saves {flops:,} operations" if flops > 0 else ""
    return text + (f"; {traffic_text(moved)}" if moved and moved > 0 else "")


def _effect(n: int, n_made: int) -> str:
    if n_made == 0:
        return f"{count_text(n, 'node')} removed"
    if n_made == n:
        return f"{count_text(n, 'node')} rewritten"
    return f"{count_text(n, 'node')} became {n_made}"
