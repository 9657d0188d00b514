"""Nodes that become dead when a node is removed."""

from __future__ import annotations

from collections.abc import Set

from compiler.ir.editor import Editor
from compiler.ir.graph import Node

GONE_LIMIT = 64
"""Limit on the number of nodes counted."""


def nodes_gone_without(ed: Editor, node: Node, needed: Set[str] = frozenset()) -> list[Node]:
    """Return a node and the producers that become dead when its readers are redirected.

    Producers of the `needed` values stay.
    """
    gone = {node.output: node}
    pending = [node]
    while pending and len(gone) < GONE_LIMIT:
        for value in dict.fromkeys(pending.pop(0).reads):
            before = ed.producer(value)
            if before is None or before.output in gone or not needed.isdisjoint(before.outputs):
                continue
            if _only_read_by(ed, before, gone):
                gone[before.output] = before
                pending.append(before)
    return list(gone.values())


def _only_read_by(ed: Editor, node: Node, gone: dict[str, Node]) -> bool:
    return all(
        not ed.is_result(v) and all(u.output in gone for u in ed.users(v))
        for v in node.outputs
        if v
    )
