"""Folding of shape computations: one node reads each list of sizes from its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.affine import Affine
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, merge_origins
from compiler.ir.operator import Operand
from compiler.ir.types import Dim, DType, TensorType
from compiler.passes.data_movement.gone import nodes_gone_without
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.step_kind import step_kind
from compiler.passes.rules.calls import o
from compiler.trace import Log
from compiler.units import count_text

ROUNDS = 8
"""Limit on the number of walks over all nodes: a rewrite may make further lists equal."""

PLACES = 16
"""Largest number of axes examined per size, input axes first."""


@graph_pass(
    aliases=("settle_sizes",),
    known_as={"TVM": "DynamicToStatic", "ONNX Runtime": "ShapeToInitializer"},
    needs=["constants"],
    gives=["sizes"],
    example="""
    graph g(x: f32[N,M,3]) {
      const one: i64[] = literal(1)
      const eight: i64[1] = literal(8)
      y: f32[N,M,3] = exp(x)
      s: i64[3] = shape(y)
      m: i64[] = gather(s, one)
      u: i64[1] = unsqueeze(m, axes=[0])
      t: i64[2] = concat(u, eight, axis=0)
      z: f32[M,8] = fill(t)
      return y, z
    }
    =>
    graph g(x: f32[N,M,3]) {
      const eight: i64[1] = literal(8)
      y: f32[N,M,3] = exp(x)
      u: i64[1] = shape(x, start=1, end=2)
      t: i64[2] = concat(u, eight, axis=0)
      z: f32[M,8] = fill(t)
      return y, z
    }
    """,
    steps=[
        step_kind(
            "read_sizes",
            "Read sizes directly from an input, instead of from a value computed from it.",
            near_miss="""
            graph g(x: f32[N,M]) {
              s: i64[2] = shape(x)
              return s
            }
            """,
        ),
        step_kind(
            "same_sizes",
            "Keep one of several lists with the same sizes.",
            example="""
            graph g(x: f32[N,3], y: f32[N,3]) {
              s: i64[2] = shape(x)
              t: i64[2] = shape(y)
              a: f32[N,3] = fill(s, value=0.5)
              b: f32[N,3] = fill(t, value=1.5)
              return a, b
            }
            =>
            graph g(x: f32[N,3], y: f32[N,3]) {
              s: i64[2] = shape(x, start=0, end=none) <- s, t
              a: f32[N,3] = fill(s, value=0.5, dtype=f32)
              b: f32[N,3] = fill(s, value=1.5, dtype=f32)
              return a, b
            }
            """,
            near_miss="""
            graph g(x: f32[N,3], y: f32[M,3]) {
              s: i64[2] = shape(x)
              t: i64[2] = shape(y)
              return s, t
            }
            """,
        ),
    ],
)
def fold_shapes(graph: Graph, log: Log) -> Graph:
    """Fold shape computations: compute each list of sizes in the fewest nodes.

    Models split and concatenate shapes to parametrise operators. Shape inference gives the elements
    of computed shapes as expressions of the input sizes. The pass therefore reads runs of sizes
    directly from tensors with these sizes.
    """
    for _ in range(ROUNDS):
        settler = _Settler(graph, log)
        for node in graph.nodes:
            settler.visit(node.output)
        if not settler.n_done:
            break
        graph = settler.ed.graph()
    return graph


@dataclass(frozen=True, slots=True)
class _Read:
    """Sizes `start` to `end` of the shape of a value."""

    source: str
    start: int
    end: int


@dataclass(slots=True)
class _Settler:
    """A visitor of nodes in order, with the lists of sizes found so far."""

    graph: Graph
    log: Log
    ed: Editor = field(init=False)
    seen: dict[tuple[object, ...], str] = field(default_factory=dict)
    """For each list of sizes: the first value with these elements."""
    reads: dict[_Read, str] = field(default_factory=dict)
    """The outputs of existing nodes that read sizes."""
    sources: dict[str, tuple[Dim, ...]] = field(default_factory=dict)
    places: dict[Dim, list[tuple[str, int]]] = field(default_factory=dict)
    """For each size: the values and axes with this size."""
    n_done: int = 0

    def __post_init__(self) -> None:
        self.ed = Editor(self.graph)
        for v in self.graph.inputs:
            self.add_source(v.name)

    def add_source(self, value: str) -> None:
        t = self.ed.type(value)
        if isinstance(t, TensorType) and t.shape and value not in self.sources:
            self.sources[value] = t.shape
            for axis, d in enumerate(t.shape):
                places = self.places.setdefault(d, [])
                if len(places) < PLACES:
                    places.append((value, axis))

    def visit(self, value: str) -> None:
        node = self.ed.producer(value)
        if node is None or not self.ed.n_uses(value):
            return
        if node.op == "shape":
            self.add_source(node.inputs[0])
        sizes = self.sizes(node)
        if sizes is None or self.same(node, sizes) or self.shorter(node, sizes):
            return
        self.note(value, sizes)

    def sizes(self, node: Node) -> tuple[Dim, ...] | None:
        """Return the elements of a list with an open size, or None for any other value."""
        t = node.types[0]
        if len(node.outputs) > 1 or not isinstance(t, TensorType) or t.dtype is not DType.i64:
            return None
        known = self.ed.known(node.output)
        if known is None or known.dtype != np.object_ or known.ndim > 1 or not t.layout.is_plain:
            return None
        return tuple(v if isinstance(v, Affine) else int(v) for v in known.reshape(-1))

    def note(self, value: str, sizes: tuple[Dim, ...]) -> None:
        node = self.ed.producer(value)
        assert node is not None, f"{value} has no node"
        self.seen[(node.type, *sizes)] = value
        if node.op == "shape":
            rank = len(self.sources.get(node.inputs[0], ()))
            start, end, _ = slice(node.attrs["start"], node.attrs["end"]).indices(rank)
            self.reads.setdefault(_Read(node.inputs[0], start, end), value)

    def same(self, node: Node, sizes: tuple[Dim, ...]) -> bool:
        """Replace a list with an earlier list that has the same elements."""
        first = self.seen.get((node.type, *sizes))
        kept = None if first is None else self.ed.producer(first)
        if first is None or kept is None or not self.log.may("same_sizes", node.output):
            return False
        self.ed.replace(node.output, first)
        gone = self.ed.remove_unused([node.output])
        origins = merge_origins(kept.origins, *(n.origins for n in gone))
        self.ed.update(kept, _with_origins(kept, origins))
        because = f"{first} holds the same sizes, {_text(sizes)}"
        self.log.applied("same_sizes", node.output, because, gone, [first])
        self.n_done += 1
        return True

    def shorter(self, node: Node, sizes: tuple[Dim, ...]) -> bool:
        """Read a list of sizes from its sources if that takes fewer nodes."""
        pieces = self.pieces(sizes)
        if pieces is None:
            return False
        needed = {p.source for p in pieces if isinstance(p, _Read)}
        gone = nodes_gone_without(self.ed, node, needed)
        there = {r for r, v in self.reads.items() if self.ed.producer(v) not in gone}
        new = sum(isinstance(p, _Read) and p not in there for p in pieces)
        new += (len(pieces) > 1) + (not node.tensor.dims)
        if new >= len(gone):
            if len(gone) > 1:
                because = (
                    f"the sizes {_text(sizes)} take {len(gone)} nodes, and would take {new} if "
                    "read anew"
                )
                self.log.declined("read_sizes", node.output, because, gone)
            return False
        if not self.log.may("read_sizes", node.output):
            return False
        origins = merge_origins(*(n.origins for n in reversed(gone)))
        self.ed.made.clear()
        made = self.ed.build(self.call(node, pieces), hint=node.output, origins=origins)
        fresh = list(self.ed.made)
        for n in fresh:
            if n.op == "shape":
                self.note(n.output, self.sizes(n) or ())
        last = self.ed.producer(made)
        if last is not None and last in fresh:
            self.ed.rename(last, node)
            self.renamed(made, node.output)
        else:
            self.ed.replace(node.output, made)
        removed = self.ed.remove_unused([*(i for n in gone for i in n.reads), node.output])
        because = f"the sizes {_text(sizes)} take {count_text(new, 'node')} instead of {len(gone)}"
        took = {n.output: n for n in (*gone, *removed)}
        self.log.applied("read_sizes", node.output, because, took.values(), self.ed.made)
        self.n_done += 1
        if self.ed.producer(node.output) is not None:
            self.note(node.output, sizes)
        return True

    def renamed(self, old: str, new: str) -> None:
        self.reads.update({r: new for r, v in self.reads.items() if v == old})
        self.seen.update({k: new for k, v in self.seen.items() if v == old})

    def call(self, node: Node, pieces: Sequence[_Read | list[int]]) -> Operand:
        parts = [self.part(p) for p in pieces]
        whole = parts[0] if len(parts) == 1 else o.concat(*parts, axis=0)
        return whole if node.tensor.dims else o.squeeze(whole, axes=(0,))

    def part(self, piece: _Read | list[int]) -> Operand:
        if isinstance(piece, list):
            return np.array(piece, np.int64)
        if piece in self.reads and self.ed.producer(self.reads[piece]) is not None:
            return self.ed.tensor(self.reads[piece])
        return o.shape(self.ed.tensor(piece.source), start=piece.start, end=piece.end)

    def pieces(self, sizes: tuple[Dim, ...]) -> list[_Read | list[int]] | None:
        """Split the list into numbers and runs of sizes of one value; return None if that fails."""
        found: list[_Read | list[int]] = []
        i = 0
        while i < len(sizes):
            read = self.longest(sizes[i:])
            if read is not None:
                found.append(read)
                i += read.end - read.start
                continue
            size = sizes[i]
            if not isinstance(size, int):
                return None
            last = found[-1] if found else None
            if isinstance(last, list):
                last.append(size)
            else:
                found.append([size])
            i += 1
        return found

    def longest(self, sizes: tuple[Dim, ...]) -> _Read | None:
        """Return the longest prefix that is a run of sizes of one value and has an open size."""
        best: _Read | None = None
        for value, start in self.places.get(sizes[0], ()):
            n = _common(self.sources[value][start:], sizes)
            longer = best is None or n > best.end - best.start
            is_open = any(isinstance(d, Affine) for d in sizes[:n])
            if longer and is_open and self.ed.defines(value):
                best = _Read(value, start, start + n)
        return best


def _common(a: Sequence[Dim], b: Sequence[Dim]) -> int:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


def _with_origins(node: Node, origins: tuple[str, ...]) -> Node:
    return replace(node, origins=origins)


def _text(sizes: tuple[Dim, ...]) -> str:
    return "[" + ", ".join(map(str, sizes)) + "]"
