"""The pass that combines products of the same operand into a single product."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, merge_origins
from compiler.ir.operator import OPERATORS, Call, Cost, Operand
from compiler.ir.types import TensorType
from compiler.passes.engine.cost import CORE, cost_of, node_cost
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.rule import ROUNDINGS
from compiler.passes.merging.branches import (
    Branches,
    form_of,
    geometry,
    grow,
    merged,
    objection,
    products_by_operand,
)
from compiler.passes.rules.calls import o
from compiler.trace import Log

_RULE = "combine_parallel_contractions"


@graph_pass(
    aliases=("merge_products",),
    known_as={"XLA": "DotMerger", "TVM": "CombineParallelConv2D, CombineParallelDense"},
    needs=["constants"],
    example="""
    graph g(x: f32[3,4]) {
      const w: f32[4,2] = literal(1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0)
      const v: f32[4,1] = literal(9.0,10.0,11.0,12.0)
      const b: f32[2] = literal(0.5,-0.5)
      const c: f32[1] = literal(0.25)
      p: f32[3,2] = matmul(x, w)
      q: f32[3,1] = matmul(x, v)
      s: f32[3,2] = add(p, b)
      t: f32[3,1] = add(c, q)
      y: f32[2,3] = transpose(s, perm=[1,0])
      z: f32[1,3] = transpose(t, perm=[1,0])
      return y, z
    }
    =>
    graph g(x: f32[3,4]) {
      const merged.a.b: f32[4,3] = literal(1.0,2.0,9.0,3.0,4.0,10.0,5.0,6.0,11.0,7.0,8.0,12.0)
      const merged.b: f32[3] = literal(0.5,-0.5,0.25)
      const s.starts: i64[1] = literal(0)
      const s.ends: i64[1] = literal(2)
      const s.axes: i64[1] = literal(1)
      const t.starts: i64[1] = literal(2)
      const t.ends: i64[1] = literal(3)
      const t.axes: i64[1] = literal(1)
      merged.a: f32[3,3] = matmul(x, merged.a.b)
      merged: f32[3,3] = add(merged.a, merged.b)
      s: f32[3,2] = slice(merged, s.starts, s.ends, s.axes)
      t: f32[3,1] = slice(merged, t.starts, t.ends, t.axes)
      y: f32[2,3] = transpose(s, perm=[1,0])
      z: f32[1,3] = transpose(t, perm=[1,0])
      return y, z
    }
    """,
    near_miss="""
    graph g(x: f32[3,4], z: f32[3,4]) {
      const w: f32[4,2] = literal(1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0)
      const v: f32[4,1] = literal(9.0,10.0,11.0,12.0)
      p: f32[3,2] = matmul(x, w)
      q: f32[3,1] = matmul(z, v)
      return p, q
    }
    """,
)
def combine_parallel_contractions(graph: Graph, log: Log, *, least: float = 0.05) -> Graph:
    """Combine matrix products or convolutions of one operand into a single wider operation.

    Examples are the query, key and value projections of attention. A single kernel reads the
    operand once. Biases and activations that follow all products are combined too. A slice of the
    combined result costs a copy, unless a transpose reads it in place. The pass therefore combines
    operations only if the estimated saving is at least the share `least` of their time.
    """
    ed, n_merged = Editor(graph), 0
    for x, nodes in products_by_operand(graph):
        for family in _families(ed, x, nodes, log):
            n_merged += _merge(ed, family, least, log)
    return ed.graph() if n_merged else graph


def _families(ed: Editor, x: str, nodes: Sequence[Node], log: Log) -> list[list[Node]]:
    """Group compatible products; record the reasons against the other products."""
    by_geometry: dict[str, list[Node]] = {}
    for node in nodes:
        reason = objection(ed, node)
        if reason:
            log.declined(
                _RULE,
                node.output,
                f"cannot be combined with other readers of {x}: {reason}",
                [node],
            )
        else:
            by_geometry.setdefault(geometry(ed, node), []).append(node)
    lonely = [family[0] for family in by_geometry.values() if len(family) == 1]
    for node in lonely if len(by_geometry) > 1 else ():
        other = next(text for text, family in by_geometry.items() if node not in family)
        because = f"its geometry, {geometry(ed, node)}, differs from another reader of {x}: {other}"
        log.declined(_RULE, node.output, because, [node])
    return [family for family in by_geometry.values() if len(family) > 1]


def _merge(ed: Editor, family: Sequence[Node], least: float, log: Log) -> int:
    """Combine compatible products if that saves time; return 1 if they were combined, else 0."""
    branches = Branches(form_of(family[0]), [[n] for n in family])
    at = family[0].output
    old = [n for chain in branches.chains for n in chain]
    if not all(isinstance(t, TensorType) and t.is_static for n in old for t in n.types):
        log.declined(_RULE, at, "sizes are open, so no cost can be estimated", old)
        return 0
    grow(ed, branches)
    old = [n for chain in branches.chains for n in chain]
    before = cost_of(old, ed.type)
    copies = [n for n in branches.ends if not _is_read_in_place(ed, n)]
    copied = sum(n.tensor.nbytes for n in copies)
    made = _joint_cost(ed, branches, before)
    if before is None or made is None:
        log.declined(_RULE, at, f"no cost is declared for {family[0].op}", old)
        return 0
    was = CORE.seconds(before, len(family))
    saved = was - CORE.seconds(made) - CORE.seconds(Cost(0, copied, copied), len(copies))
    share = saved / was
    if share < least:
        because = (
            f"combining {len(family)} products saves only {saved * 1e6:.1f} us, {share:.1%} of "
            f"their time, and moves {2 * copied:,} bytes to copy the slices"
        )
        log.declined(_RULE, at, because, old)
        return 0
    if not log.may(_RULE, at):
        return 0
    ed.made.clear()
    ed.made_constants.clear()
    _replace(ed, branches)
    because = (
        f"{len(family)} products read {family[0].inputs[0]}; a combined product saves "
        f"{share:.0%} of the time"
    )
    new = [*ed.made, *ed.made_constants]
    log.applied(_RULE, at, because, old, new, ROUNDINGS, "", before, made + Cost(0, copied, copied))
    return 1


def _joint_cost(ed: Editor, branches: Branches, before: Cost | None) -> Cost | None:
    """Return the cost of all branches in one kernel, which reads their operand once."""
    first = branches.products[0]
    x = ed.type(first.inputs[0])
    if before is None or not isinstance(x, TensorType) or node_cost(first, ed.type) is None:
        return None
    twice = x.nbytes * (len(branches.chains) - 1)
    return Cost(before.flops, before.bytes_read - twice, before.bytes_written)


def _is_read_in_place(ed: Editor, end: Node) -> bool:
    """Whether a transpose, possibly after views, is a slice's only reader and avoids its copy."""
    value = end.output
    while not ed.is_result(value) and ed.n_uses(value) == 1:
        user = ed.users(value)[0]
        operator = OPERATORS.get(user.op)
        if user.op == "transpose":
            return True
        if operator is None or operator.kind != "view":
            return False
        value = user.output
    return False


def _replace(ed: Editor, branches: Branches) -> None:
    """Build the combined product; replace the end of each branch with a slice of this product."""
    nodes = [n for chain in branches.chains for n in chain]
    origins = merge_origins(*(n.origins for n in nodes))
    whole = ed.tensor(ed.build(merged(ed, branches), hint="merged", origins=origins))
    starts = [0, *accumulate(branches.widths)]
    axis = branches.form.result_axis
    for chain, start, end in zip(branches.chains, starts, starts[1:], strict=False):
        last = chain[-1]
        part = ed.build(_part(whole, axis, start, end), hint=last.output, origins=origins)
        node = ed.producer(part)
        assert node is not None, "a slice is a node"
        ed.rename(node, last)
        ed.remove_unused([n.output for n in reversed(chain[:-1])])


def _part(x: Operand, axis: int, start: int, end: int) -> Call:
    bounds = (np.array([v]) for v in (start, end, axis))
    return o.slice(x, *bounds)
