"""Slices that make up a tensor together are one split."""

from __future__ import annotations

from compiler.ir.editor import Editor
from compiler.ir.graph import Node, merge_origins
from compiler.ir.operator import OPERATORS, with_trait
from compiler.passes.data_movement.parts import Part, all_plain, size_along, taken_by
from compiler.passes.rules.calls import o
from compiler.trace import Log


def slices_to_splits(ed: Editor, log: Log) -> int:
    """Make splits of the slices that make up one tensor; how many were made."""
    families: dict[tuple[str, int], list[tuple[Part, Node]]] = {}
    for node in ed.graph().nodes:
        if node.op != "slice" or not all_plain(ed, node) or not ed.n_uses(node.output):
            continue
        part = taken_by(ed, node.output)
        if part is not None:
            families.setdefault((part.source, part.axis), []).append((part, node))
    return sum(_split(ed, log, family) for family in families.values() if len(family) > 1)


def _split(ed: Editor, log: Log, family: list[tuple[Part, Node]]) -> bool:
    source, axis = family[0][0].source, family[0][0].axis
    parts = sorted({(p.start, p.end) for p, _ in family})
    nodes = [n for _, n in family]
    at = nodes[0].output
    gap = _gap(parts, size_along(ed, source, axis) or 0)
    if gap:
        log.declined("slices_are_split", at, f"of axis {axis} of {source} {gap}", nodes)
        return False
    mover = next((m for n in nodes if (m := _mover_behind(ed, n))), None)
    if mover is not None:
        because = f"{mover.op} {mover.output} reads through its slice, but not through a split"
        log.declined("slices_are_split", at, because, nodes)
        return False
    if not log.may("slices_are_split", at):
        return False
    origins = merge_origins(*(n.origins for n in nodes))
    sizes = tuple(end - start for start, end in parts)
    call = o.split(ed.tensor(source), axis=axis, sizes=sizes)
    names = [ed.fresh(f"{source}.part") for _ in sizes]
    ed.made.clear()
    ed.build(call, hint=source, origins=origins, outputs=names)
    piece = dict(zip(parts, names, strict=True))
    for part, node in family:
        ed.replace(node.output, piece[part.start, part.end])
        ed.remove_unused([node.output])
    because = f"{len(nodes)} slices along axis {axis} of {source} make it up: {list(sizes)}"
    log.applied("slices_are_split", at, because, nodes, ed.made)
    return True


_INJECTIVE = with_trait("injective")
"""Operators that become one kernel with a slice before them."""


def _mover_behind(ed: Editor, node: Node) -> Node | None:
    """The only reader that copies what a slice took, maybe under another shape."""
    while ed.n_uses(node.output) == 1 and (users := ed.users(node.output)):
        node = users[0]
        if node.op in _INJECTIVE:
            return node
        if node.op not in OPERATORS or OPERATORS[node.op].kind != "view":
            break
    return None


def _gap(parts: list[tuple[int, int]], size: int) -> str:
    """What keeps parts from making up an axis; empty when nothing does."""
    reached = 0
    for start, end in parts:
        if start < reached:
            return f"place {start} is taken twice"
        if start > reached:
            return f"places {reached} to {start} are not taken"
        reached = end
    return "" if reached == size else f"places {reached} to {size} are not taken"
