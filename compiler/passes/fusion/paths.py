"""Conditions on all paths to a post-dominator, and the union of groups, as in TVM's FuseOps.

Source: TVM, src/relax/transform/fuse_ops.cc (GraphPartitioner: RunFuse, CheckPath, CommitFuse).
"""

from __future__ import annotations

import math

from compiler.ir.graph import Graph, Node
from compiler.passes.fusion.dominators import PostDominators
from compiler.passes.fusion.kinds import EXPENSIVE, share_lanes, why_alone
from compiler.passes.fusion.patterns import Pattern, pattern_of
from compiler.passes.fusion.policy import Group

_KINDS = {
    Pattern.OUT_ELEMENTWISE_FUSABLE: "contraction",
    Pattern.REDUCTION: "reduction",
    Pattern.INJECTIVE: "movement",
}


class Fuser:
    """Groups as a union-find forest; the root of a group is its final node."""

    def __init__(self, graph: Graph, max_nodes: int) -> None:
        self.graph, self.max_nodes = graph, max_nodes
        self.above = PostDominators(graph).parent
        self.own = {n.output: pattern_of(n, graph) for n in graph.nodes}
        self.reasons: dict[str, str] = {}
        self._group = {n.output: n.output for n in graph.nodes}
        self._pattern = dict(self.own)
        self._size = dict.fromkeys(self._group, 1)
        self._anchor: dict[str, Node] = {
            n.output: n
            for n in graph.nodes
            if self.own[n.output] is Pattern.OUT_ELEMENTWISE_FUSABLE
        }

    def find(self, name: str) -> str:
        """Return the root of a node's group."""
        root = name
        while self._group[root] != root:
            root = self._group[root]
        while self._group[name] != root:
            self._group[name], name = root, self._group[name]
        return root

    def pattern(self, name: str) -> Pattern:
        """Return the kind of a node's group: the highest kind of its members."""
        return self._pattern[self.find(name)]

    def why_alone(self, node: Node) -> str:
        """Return the reason that a node is opaque and cannot share a kernel, or ""."""
        if self.own[node.output] is not Pattern.OPAQUE:
            return ""
        return (
            why_alone(node) or f"{node.op} is opaque: its loops differ from those of its operands"
        )

    def visit(self, node: Node, phase: int) -> None:
        """Fuse a node with its post-dominator if this phase handles its kind."""
        name = node.output
        reason = self._not_now(node, phase) or self._fuse(node)
        if reason:
            self.reasons[name] = reason
        else:
            self.reasons.pop(name, None)

    def _not_now(self, node: Node, phase: int) -> str:
        name, kind = node.output, self.pattern(node.output)
        if self.own[name] is Pattern.OPAQUE:
            return self.why_alone(node)
        sink = self.above[name]
        if not sink:
            return self._nowhere(node)
        if self.find(sink) == self.find(name):
            return ""
        if kind is Pattern.REDUCTION:
            return f"reduction {node.op} is not fused into its readers, which have different loops"
        if kind > Pattern.BROADCAST and (kind is Pattern.INJECTIVE) == (phase == 0):
            waits = f"{kind.word} {node.op} waits for the second phase of fusion"
            return self.reasons.get(name, waits)
        return ""

    def _nowhere(self, node: Node) -> str:
        if node.output in self.graph.result_values:
            return f"{node.output} is also a result of the graph, so it has to be stored"
        users = self.graph.users.get(node.output, ())
        shown = ", ".join(u.output for u in users[:3]) + (", ..." if len(users) > 3 else "")
        return f"no node post-dominates {node.output}: its readers ({shown}) never converge"

    def _fuse(self, node: Node) -> str:
        """Fuse a node with its post-dominator; return the reason if that is not possible."""
        name = node.output
        sink = self.above[name]
        if self.find(sink) == self.find(name):
            return ""
        path = self._path(name, sink)
        if path is None:
            return f"more than {self.max_nodes} nodes lie between {name} and {sink}"
        reason = self._unfit(node, path, sink)
        if reason:
            return reason
        roots = {self.find(n) for n in (name, *path, sink)}
        n = sum(self._size[r] for r in roots)
        if n > self.max_nodes:
            return f"with {sink} the group has {n} nodes, above the limit of {self.max_nodes}"
        self._unite(roots, self.find(sink))
        return ""

    def _path(self, source: str, sink: str) -> list[str] | None:
        """Return the nodes on all paths to the post-dominator, without the endpoints."""
        found: dict[str, None] = {}
        pending = [source]
        while pending:
            for user in self.graph.users.get(pending.pop(), ()):
                if user.output != sink and user.output not in found:
                    found[user.output] = None
                    pending.append(user.output)
                    if len(found) > self.max_nodes:
                        return None
        return list(found)

    def _unfit(self, node: Node, path: list[str], sink: str) -> str:
        """Return the reason that the kinds on the paths do not fuse, or "" if they do."""
        kind = self.pattern(node.output)
        anchored = kind is Pattern.OUT_ELEMENTWISE_FUSABLE
        most = Pattern.BROADCAST if anchored else Pattern.INJECTIVE
        for n in path:
            if self.pattern(n) > most:
                return self._kinds(node, n)
        if kind <= Pattern.BROADCAST:
            fits = self.own[sink] <= Pattern.REDUCTION
        else:
            fits = self.pattern(sink) <= most
        if not fits:
            return self._kinds(node, sink)
        members = [self.graph.producers[n] for n in (*path, sink)]
        return self._shapes(node, members) if anchored else self._repeated(node, members)

    def _kinds(self, node: Node, other: str) -> str:
        user = self.graph.producers[other]
        alone = self.why_alone(user)
        if alone:
            return alone
        a, b = self.pattern(node.output), self.pattern(other)
        if a is b is Pattern.OUT_ELEMENTWISE_FUSABLE:
            return f"{other} belongs to another {b.word} kernel, and a kernel holds one such node"
        return f"{a.word} {node.op} and {b.word} {user.op} do not fuse"

    def _shapes(self, node: Node, members: list[Node]) -> str:
        """Return the reason that nodes cannot be the epilogue of an anchor, or "" if they can."""
        anchor = self._anchor[self.find(node.output)]
        for n in members:
            if n.tensor.shape != anchor.tensor.shape:
                words = f"{anchor.output} is {anchor.type}, {n.output} is {n.type}"
                return f"the shapes differ: {words}"
            if not share_lanes(n, anchor):
                return f"the element types differ in size: {anchor.type} and {n.type}"
        return ""

    def _repeated(self, node: Node, members: list[Node]) -> str:
        """Return the reason if fusion would repeat an expensive node for more elements, else ""."""
        size, most = _n_elements(node), max(_n_elements(n) for n in members)
        root = self.find(node.output)
        expensive = [n for n in self._members(root) if n.op in EXPENSIVE] if most > size else []
        if not expensive:
            return ""
        return (
            f"{expensive[0].op} is expensive, and {members[-1].output} would compute it for "
            f"{most:,} elements instead of {size:,}"
        )

    def _members(self, root: str) -> list[Node]:
        found, pending = [], [root]
        seen = {root}
        while pending:
            node = self.graph.producers[pending.pop()]
            found.append(node)
            for i in node.inputs:
                maker = self.graph.producers.get(i)
                if maker is not None and maker.output not in seen:
                    seen.add(maker.output)
                    if self.find(maker.output) == root:
                        pending.append(maker.output)
        return found

    def _unite(self, roots: set[str], into: str) -> None:
        for r in roots - {into}:
            self._group[r] = into
            self._size[into] += self._size[r]
            self._pattern[into] = max(self._pattern[into], self._pattern[r])
            if r in self._anchor:
                self._anchor[into] = self._anchor[r]

    def groups(self) -> list[Group]:
        """Return the groups with more than one node, in the order of their outputs."""
        found: dict[str, Group] = {}
        for n in self.graph.nodes:
            root = self.find(n.output)
            if self._size[root] > 1:
                last = self.graph.producers[root]
                kind = _KINDS.get(self._pattern[root], "elementwise")
                group = found.setdefault(root, Group(kind, self._anchor.get(root, last), last))
                group.add([n])
        position = {n.output: i for i, n in enumerate(self.graph.nodes)}
        return sorted(found.values(), key=lambda g: position[g.last.output])


def _n_elements(n: Node) -> int:
    return math.prod(n.tensor.assumed.static_shape)
