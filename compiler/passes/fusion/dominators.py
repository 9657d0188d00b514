"""Immediate post-dominators: the nearest node through which all paths from a node pass.

Source: Cooper, Harvey and Kennedy 2001 (A Simple, Fast Dominance Algorithm): on an acyclic graph a
single walk from the results backwards suffices. Jump pointers (Myers 1983) find common ancestors in
logarithmic time, even if readers of a value are far apart.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.ir.graph import Graph


class PostDominators:
    """The tree of post-dominators of a graph's nodes, named by their outputs; the root is "".

    Producers of graph results are children of the root, since their readers are outside the graph.
    Nodes without readers are children of the root too.
    """

    def __init__(self, graph: Graph) -> None:
        self.parent: dict[str, str] = {"": ""}
        self._depth = {"": 0}
        self._jump = {"": ""}
        for node in reversed(graph.nodes):
            values = [o for o in node.outputs if o]
            users = [u.output for v in values for u in graph.users.get(v, ())]
            is_result = any(v in graph.result_values for v in values)
            self._hang(node.output, "" if is_result else self._common(users))

    def _hang(self, node: str, parent: str) -> None:
        depth, jump = self._depth, self._jump
        self.parent[node], depth[node] = parent, depth[parent] + 1
        up = jump[parent]
        as_far = depth[parent] - depth[up] == depth[up] - depth[jump[up]]
        jump[node] = jump[up] if as_far else parent

    def _common(self, nodes: Iterable[str]) -> str:
        """Return the nearest common ancestor of nodes that are in the tree already."""
        found: str | None = None
        for n in nodes:
            found = n if found is None else self._meet(found, n)
        return found or ""

    def _meet(self, a: str, b: str) -> str:
        if self._depth[a] < self._depth[b]:
            a, b = b, a
        a = self._up_to(a, self._depth[b])
        while a != b:
            if self._jump[a] != self._jump[b]:
                a, b = self._jump[a], self._jump[b]
            else:
                a, b = self.parent[a], self.parent[b]
        return a

    def _up_to(self, node: str, depth: int) -> str:
        while self._depth[node] > depth:
            far = self._jump[node]
            node = far if self._depth[far] >= depth else self.parent[node]
        return node
