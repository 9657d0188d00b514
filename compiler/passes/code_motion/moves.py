"""Shared functions for moving elementwise operators across data movement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, merge_origins
from compiler.ir.operator import with_trait
from compiler.ir.types import TensorType
from compiler.passes.engine.cost import cost_of
from compiler.trace import Log

MOVES = (with_trait("aliasing") | with_trait("copying") | {"max_pool"}) - {"split"}
"""Data movement with one result, whose elements come from the first operand (concat: from all)."""

SELECTS = with_trait("dropping") | {"max_pool"}
"""The operators of `MOVES` that drop elements."""

_REDUCTIONS = with_trait("axis_reduction")

GROWS = with_trait("repeating")
"""The operators of `MOVES` that may repeat elements."""


Exchange = Callable[[Editor, Log, str], bool]
"""A function that exchanges data movement with a neighbour; returns whether that was possible."""


def exchange_all(graph: Graph, log: Log, down: Exchange, up: Exchange) -> Graph:
    """Exchange all data movement with its producer if possible, otherwise with its reader."""
    ed = Editor(graph)
    n_done = sum(down(ed, log, n.output) for n in graph.nodes if n.op in MOVES)
    behind = [n.output for n in reversed(ed.graph().nodes) if n.op in MOVES - SELECTS - {"concat"}]
    n_done += sum(up(ed, log, value) for value in behind)
    return ed.graph() if n_done else graph


def data_of(node: Node) -> tuple[str, ...]:
    """Return the operands whose elements data movement copies."""
    return node.inputs if node.op == "concat" else node.inputs[:1]


def makers(ed: Editor, node: Node, op: str) -> list[Node] | None:
    """Return the producers of the data operands of a node if all are an `op`, else None."""
    found = [ed.producer(i) for i in data_of(node)]
    made = [n for n in found if n is not None and n.op == op]
    if node.op not in MOVES or len(made) != len(found):
        return None
    return made


def only_reader(ed: Editor, value: str, op: str) -> Node | None:
    """Return the only reader of a value, if it is an `op` with the value as data operand."""
    readers = ed.users(value)
    if len(readers) != 1 or readers[0].op != op or ed.is_result(value):
        return None
    alone = readers[0].inputs[0] == value and value not in readers[0].inputs[1:]
    return readers[0] if alone else None


def moves_alone(ed: Editor, made: Node) -> bool:
    """Whether only data movement reads a tensor.

    If it has several readers, they must not read more elements in total than the tensor has.
    """
    readers = ed.users(made.output)
    if ed.is_result(made.output) or any(u.op not in MOVES for u in readers):
        return False
    sizes = [ed.type(made.output), *(u.type for u in readers)]
    if len(readers) == 1:
        return True
    counts = [t.n_elements for t in sizes if isinstance(t, TensorType) and t.is_static]
    return len(counts) == len(sizes) and sum(counts[1:]) <= counts[0]


def grows(ed: Editor, node: Node) -> bool:
    """Whether the result of data movement may have more elements than the operand."""
    t = ed.type(node.inputs[0])
    if node.op not in GROWS or not isinstance(t, TensorType):
        return False
    return not (t.is_static and node.tensor.is_static) or (node.tensor.n_elements > t.n_elements)


def later(
    ed: Editor,
    log: Log,
    rule: str,
    node: Node,
    made: Sequence[Node],
    *,
    error: float = 0.0,
    **attrs: object,
) -> None:
    """Replace elementwise nodes before data movement with one node of the same kind after it.

    `attrs` are the changed attributes of the elementwise node.
    """
    first = made[0]
    source = {m.output: m.inputs[0] for m in made}
    t = ed.type(first.inputs[0])
    assert isinstance(t, TensorType)
    data = data_of(node)
    fresh = ed.fresh(f"{node.output}.moved")
    moved = replace(
        node,
        inputs=tuple(source[i] if i in data and i in source else i for i in node.inputs),
        outputs=(fresh,),
        types=(TensorType(t.dtype, node.tensor.shape),),
    )
    after = replace(
        first,
        inputs=(fresh, *first.inputs[1:]),
        outputs=node.outputs,
        types=node.types,
        attrs={**first.attrs, **attrs},
        origins=merge_origins(*(m.origins for m in made)),
    )
    _exchange(ed, log, rule, node, list(made), moved, after, error)


def earlier(ed: Editor, log: Log, rule: str, node: Node, after: Node) -> None:
    """Exchange data movement and the elementwise node after it, which then runs first."""
    t = ed.type(node.inputs[0])
    assert isinstance(t, TensorType)
    fresh = ed.fresh(f"{after.output}.early")
    first = replace(
        after,
        inputs=(node.inputs[0], *after.inputs[1:]),
        outputs=(fresh,),
        types=(TensorType(after.tensor.dtype, t.shape),),
    )
    moved = replace(
        node, inputs=(fresh, *node.inputs[1:]), outputs=after.outputs, types=after.types
    )
    _exchange(ed, log, rule, after, [node], first, moved, 0.0)


def _exchange(
    ed: Editor,
    log: Log,
    rule: str,
    root: Node,
    before: list[Node],
    first: Node,
    last: Node,
    error: float,
) -> None:
    """Replace a root and its single-use producers by `first` and `last`, and log the rewrite."""
    cost_before = cost_of([*before, root], ed.type)
    ed.add(first)
    ed.update(root, last)
    cost_after = cost_of([first, last], ed.type)
    ed.remove_unused([n.output for n in before])
    move = first if first.op in MOVES or first.op in _REDUCTIONS else last
    saved = ""
    if cost_before is not None and cost_after is not None:
        bytes_saved = cost_before.bytes_moved - cost_after.bytes_moved
        flops_saved = cost_before.flops - cost_after.flops
        saved = f": saves {flops_saved:,} operations and {bytes_saved:,} bytes"
    log.applied(
        rule,
        last.output,
        f"{first.op} now precedes {last.op}, and {move.op} returns {move.tensor.dtype}{saved}",
        [*before, root],
        [first, last],
        error=error,
        cost_before=cost_before,
        cost_after=cost_after,
    )
