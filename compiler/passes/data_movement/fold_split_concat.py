"""Folding of splits and concatenations: readers read each slice from its source."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, merge_origins
from compiler.ir.operator import Operand
from compiler.ir.types import logical
from compiler.ir.verify import refines
from compiler.passes.data_movement.gone import nodes_gone_without
from compiler.passes.data_movement.parts import (
    Part,
    all_plain,
    resolved,
    size_along,
    taken_by,
)
from compiler.passes.data_movement.splits import slices_to_splits
from compiler.passes.data_movement.stacks import concat_of_views
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.step_kind import step_kind
from compiler.passes.rules.calls import o
from compiler.trace import Log
from compiler.units import count_text

ROUNDS = 8
"""Limit on the number of walks over all nodes: a rewrite may enable a rewrite of earlier nodes."""


@graph_pass(
    aliases=("join_parts",),
    needs=["constants"],
    example="""
    graph g(x: f32[2,7], y: f32[2,3]) {
      a: f32[2,2], b: f32[2,5] = split(x, axis=1, sizes=[2,5])
      c: f32[2,10] = concat(a, b, y, axis=1)
      const from: i64[1] = literal(7)
      const to: i64[1] = literal(10)
      const at: i64[1] = literal(1)
      d: f32[2,3] = slice(c, from, to, at)
      e: f32[2,3] = relu(d)
      return c, e
    }
    =>
    graph g(x: f32[2,7], y: f32[2,3]) {
      c: f32[2,10] = concat(x, y, axis=1)
      e: f32[2,3] = relu(y)
      return c, e
    }
    """,
    steps=[
        step_kind(
            "concat_of_parts",
            "Replace a concatenation of all parts of a value, in order, with the value.",
            near_miss="""
            graph g(x: f32[2,7]) {
              a: f32[2,2], b: f32[2,5] = split(x, axis=1, sizes=[2,5])
              c: f32[2,7] = concat(b, a, axis=1)
              return c
            }
            """,
        ),
        step_kind(
            "part_of_part",
            "Read a slice of a concatenation, or of a slice, from its source.",
            near_miss="""
            graph g(x: f32[2,7], y: f32[2,3]) {
              const from: i64[1] = literal(5)
              const to: i64[1] = literal(9)
              const at: i64[1] = literal(1)
              c: f32[2,10] = concat(x, y, axis=1)
              d: f32[2,4] = slice(c, from, to, at)
              return d
            }
            """,
        ),
        step_kind(
            "slices_are_split",
            "Replace slices that together cover a value with a split.",
            example="""
            graph g(x: f32[6,2]) {
              const zero: i64[1] = literal(0)
              const two: i64[1] = literal(2)
              const six: i64[1] = literal(6)
              const rows: i64[1] = literal(0)
              a: f32[2,2] = slice(x, zero, two, rows)
              b: f32[4,2] = slice(x, two, six, rows)
              return a, b
            }
            =>
            graph g(x: f32[6,2]) {
              x.part: f32[2,2], x.part_2: f32[4,2] = split(x, axis=0, sizes=[2,4]) <- a, b
              return a=x.part, b=x.part_2
            }
            """,
            near_miss="""
            graph g(x: f32[6,2]) {
              const zero: i64[1] = literal(0)
              const two: i64[1] = literal(2)
              const three: i64[1] = literal(3)
              const six: i64[1] = literal(6)
              const rows: i64[1] = literal(0)
              a: f32[2,2] = slice(x, zero, two, rows)
              b: f32[3,2] = slice(x, three, six, rows)
              return a, b
            }
            """,
        ),
    ],
)
def fold_split_concat(graph: Graph, log: Log) -> Graph:
    """Remove splits and concatenations that cancel, and read slices from their source.

    Concatenating adjacent slices gives a larger slice. A slice of a concatenation is a slice of an
    operand. Slices that together cover a tensor become one split. Each rewrite saves a copy.
    """
    joiner = _Joiner(graph, log)
    for _ in range(ROUNDS):
        before = joiner.n_done
        for node in joiner.ed.graph().nodes:
            joiner.visit(node.output)
        joiner.n_done += slices_to_splits(joiner.ed, log)
        if joiner.n_done == before:
            break
    return joiner.ed.graph() if joiner.n_done else graph


class _Joiner:
    """A visitor of nodes in order; rewrites keep the names of values with readers."""

    def __init__(self, graph: Graph, log: Log) -> None:
        self.ed = Editor(graph)
        self.log = log
        self.n_done = 0
        self.told: set[tuple[str, str]] = set()

    def visit(self, value: str) -> None:
        node = self.ed.producer(value)
        if node is None or not any(self.ed.n_uses(v) for v in node.outputs if v):
            return
        if not all_plain(self.ed, node):
            return
        if node.op == "slice":
            self.slice(node)
        elif node.op == "split":
            self.split(node)
        elif node.op == "concat":
            self.concat(node)

    def slice(self, node: Node) -> None:
        """Read a slice of a slice, or of a concatenation, from its source."""
        direct = taken_by(self.ed, node.output)
        part = None if direct is None else resolved(self.ed, direct)
        if direct is None or part is None or part == direct:
            return
        because = (
            f"reads positions {part.start} to {part.end} of {part.source} directly, instead of "
            f"through {node.inputs[0]}"
        )
        self.put("part_of_part", node, node.output, part.operand(self.ed), because)

    def split(self, node: Node) -> None:
        """Replace outputs of a split with operands, or slices, of the concatenation before it."""
        for value in [v for v in node.outputs if v and self.ed.n_uses(v)]:
            direct = taken_by(self.ed, value)
            assert direct is not None, f"{value} is an output of a split"
            part = resolved(self.ed, direct)
            if part == direct:
                continue
            whole = part.is_whole(self.ed.tensor(part.source))
            alone = nodes_gone_without(self.ed, node)
            if not whole and len(alone) < 2:
                because = (
                    f"{direct.source} is computed anyway, so reading {part.source} saves nothing"
                )
                self.decline("piece_of_concat", node, value, because)
                continue
            because = f"equals positions {part.start} to {part.end} of {part.source}"
            self.put("piece_of_concat", node, value, part.operand(self.ed), because)

    def concat(self, node: Node) -> None:
        axis = node.attrs["axis"] % self.ed.tensor(node.output).rank
        values = self.flattened(node, axis)
        if len(values) > 1 and len(set(values)) == 1:
            self.repeat(node, values, axis)
            return
        view = concat_of_views(self.ed, node, axis)
        reader = self.only_reader(node)
        if view is not None and reader == "transpose":
            because = (
                f"the transpose behind {node.output} may become a view if it moves before the "
                "concatenation"
            )
            self.decline("concat_of_views", node, node.output, because)
        elif view is not None and reader != "concat":
            because = f"{len(node.inputs)} views become a single view of the concatenation"
            self.put("concat_of_views", node, node.output, view, because)
            return
        groups = self.groups(node, values, axis)
        if [[v] for v in node.inputs] == groups:
            return
        operands = [self.group(g, axis) for g in groups]
        made = operands[0] if len(operands) == 1 else o.concat(*operands, axis=axis)
        n_operands = count_text(len(node.inputs), "operand")
        because = f"the concatenation takes {len(groups)} instead of {n_operands}"
        self.put("concat_of_parts", node, node.output, made, because)

    def only_reader(self, node: Node) -> str:
        """Return the operator of a node's only reader; "" for several readers or a graph result."""
        users = self.ed.users(node.output)
        return users[0].op if len(users) == 1 == self.ed.n_uses(node.output) else ""

    def repeat(self, node: Node, values: list[str], axis: int) -> None:
        """Replace a concatenation of copies of a tensor with a tile, which reads it once."""
        x = self.ed.tensor(values[0])
        times = np.array([len(values) if a == axis else 1 for a in range(x.rank)], np.int64)
        because = f"{x.name} is repeated {len(values)} times along axis {axis}"
        self.put("concat_of_same", node, node.output, o.tile(x, times), because)

    def flattened(self, node: Node, axis: int) -> list[str]:
        """Return the non-empty operands, with nested concatenations along the axis inlined."""
        found: list[str] = []
        for value in node.inputs:
            inner = self.ed.producer(value)
            nested = inner is not None and inner.op == "concat" and all_plain(self.ed, inner)
            if nested and inner is not None and inner is not node:
                same = inner.attrs["axis"] % self.ed.tensor(value).rank == axis
                if same and self.ed.n_uses(value) == 1:
                    found += self.flattened(inner, axis)
                    continue
                if same:
                    because = (
                        f"{value} has {self.ed.n_uses(value)} readers, so it is computed anyway"
                    )
                    self.decline("concat_of_parts", node, node.output, because)
            if size_along(self.ed, value, axis) != 0:
                found.append(value)
        return found or list(node.inputs[:1])

    def groups(self, node: Node, values: list[str], axis: int) -> list[list[str]]:
        """Group operands: adjacent slices of a tensor form one group if that saves copies."""
        parts = [self.part(v, axis) for v in values]
        runs: list[list[int]] = []
        for i in range(len(values)):
            if runs and _follows(parts[runs[-1][-1]], parts[i]):
                runs[-1].append(i)
            else:
                runs.append([i])
        found: list[list[str]] = []
        for run in runs:
            members = [values[i] for i in run]
            if len(run) > 1 and self.saves(node, members, axis):
                found.append(members)
            else:
                found += [[v] for v in members]
        return found

    def part(self, value: str, axis: int) -> Part | None:
        direct = taken_by(self.ed, value)
        part = None if direct is None else resolved(self.ed, direct)
        return part if part is not None and part.axis == axis else None

    def saves(self, node: Node, members: list[str], axis: int) -> bool:
        """Whether a run of slices equals an existing tensor, or replaces nodes that become dead."""
        if isinstance(self.joined(members, axis), str):
            return True
        alone = sum(self.ed.n_uses(v) == 1 for v in members)
        if alone < 2:
            because = f"{', '.join(members)} have other readers, so a joint slice saves nothing"
            self.decline("concat_of_parts", node, node.output, because)
        return alone > 1

    def joined(self, members: list[str], axis: int) -> str | Part:
        """Return the tensor, or the larger slice, that equals a run of slices."""
        first, last = self.part(members[0], axis), self.part(members[-1], axis)
        assert first is not None
        assert last is not None
        part = resolved(self.ed, Part(first.source, axis, first.start, last.end))
        return part.source if part.is_whole(self.ed.tensor(part.source)) else part

    def group(self, members: list[str], axis: int) -> Operand:
        if len(members) == 1:
            return self.ed.tensor(members[0])
        joined = self.joined(members, axis)
        return self.ed.tensor(joined) if isinstance(joined, str) else joined.operand(self.ed)

    def put(self, rule: str, node: Node, value: str, made: Operand, because: str) -> None:
        """Replace a value, keeping its name if the replacement is a new node."""
        if not self.log.may(rule, value):
            return
        ed = self.ed
        gone = nodes_gone_without(ed, node) if len(node.outputs) == 1 else [node]
        origins = merge_origins(*(n.origins for n in reversed(gone)))
        ed.made.clear()
        built = ed.build(made, hint=value, origins=origins)
        new = ed.producer(built)
        is_renamed = new is not None and new in ed.made and len(node.outputs) == 1
        a, b = logical(ed.type(value)), logical(ed.type(built))
        if a != b and not (is_renamed and refines(a, b)):
            ed.remove_unused([n.output for n in reversed(ed.made)])
            self.decline(rule, node, value, f"{value} is {a}, but its replacement would be {b}")
            return
        if new is not None and is_renamed:
            ed.rename(new, node)
        else:
            ed.replace(value, built)
            if new is not None:
                ed.update(new, replace(new, origins=merge_origins(new.origins, origins)))
        unread = [i for n in gone for i in n.reads]
        removed = ed.remove_unused([*unread, *filter(None, node.outputs)])
        took = {n.output: n for n in (node, *removed)}
        self.log.applied(rule, value, because, took.values(), ed.made)
        self.n_done += 1

    def decline(self, rule: str, node: Node, value: str, because: str) -> None:
        if (value, because) not in self.told:
            self.told.add((value, because))
            self.log.declined(rule, value, because, [node])


def _follows(a: Part | None, b: Part | None) -> bool:
    return a is not None and b is not None and a.source == b.source and a.end == b.start
