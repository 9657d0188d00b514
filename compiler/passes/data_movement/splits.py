"""Conversion of slices that together cover a tensor into a split."""

from __future__ import annotations

from compiler.ir.editor import Editor
from compiler.ir.graph import Node, merge_origins
from compiler.ir.operator import OPERATORS, with_trait
from compiler.passes.data_movement.parts import Part, all_plain, size_along, taken_by
from compiler.passes.rules.calls import o
from compiler.trace import Log


def slices_to_splits(ed: Editor, log: Log) -> int:
    """Convert slices that cover a tensor to splits; return the number of splits."""
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
        log.declined(
            "slices_are_split",
            at,
            f"the slices along axis {axis} do not cover {source}: {gap}",
            nodes,
        )
        return False
    mover = next((m for n in nodes if (m := _mover_behind(ed, n))), None)
    if mover is not None:
        because = f"{mover.op} {mover.output} can fuse with a slice, but not with a split"
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
    because = f"{len(nodes)} slices along axis {axis} cover {source}: {list(sizes)}"
    log.applied("slices_are_split", at, because, nodes, ed.made)
    return True


_INJECTIVE = with_trait("injective")
"""Data movement operators, which fuse with a slice before them."""


def _mover_behind(ed: Editor, node: Node) -> Node | None:
    """Return the data movement that is the only reader of a slice or of its view, or None."""
    while ed.n_uses(node.output) == 1 and (users := ed.users(node.output)):
        node = users[0]
        if node.op in _INJECTIVE:
            return node
        if node.op not in OPERATORS or OPERATORS[node.op].kind != "view":
            break
    return None


def _gap(parts: list[tuple[int, int]], size: int) -> str:
    """Return the gap or overlap of slices along an axis, or "" if they cover it exactly."""
    reached = 0
    for start, end in parts:
        if start < reached:
            return f"position {start} is selected twice"
        if start > reached:
            return f"positions {reached} to {start} are not selected"
        reached = end
    return "" if reached == size else f"positions {reached} to {size} are not selected"
