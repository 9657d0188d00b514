"""Common subexpression elimination: equal nodes and equal constants merge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from compiler.ir.constant import Constant, Splat
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, merge_origins
from compiler.ir.infer import infer
from compiler.ir.text import attribute
from compiler.ir.types import DType, TensorType, open_symbols
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.determinism import is_deterministic
from compiler.passes.engine.pattern import COMMUTATIVE
from compiler.passes.engine.step_kind import step_kind
from compiler.trace import Log


@graph_pass(
    aliases=("cse", "merge_common"),
    known_as={"LLVM": "EarlyCSE, GVN", "XLA": "HloCSE", "TVM": "EliminateCommonSubexpr"},
    example="""
    graph g(x: f32[2,3], y: f32[3]) {
      const one: f32[] = literal(1.5)
      const same: f32[] = literal(1.5)
      a: f32[2,3] = add(x, y)
      b: f32[2,3] = add(y, x)
      c: f32[2,3] = mul(a, one)
      d: f32[2,3] = mul(b, same)
      e: f32[2,3] = sub(c, d)
      return e
    }
    =>
    graph g(x: f32[2,3], y: f32[3]) {
      const one: f32[] = literal(1.5)
      a: f32[2,3] = add(x, y)
      c: f32[2,3] = mul(a, one)
      e: f32[2,3] = sub(c, c)
      return e
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[2,3]) {
      a: f32[2,3] = sub(x, y)
      b: f32[2,3] = sub(y, x)
      c: f32[2,3] = mul(a, b)
      return c
    }
    """,
    steps=[
        step_kind(
            "merge_constants",
            "Keep one of several constants with the same type and elements.",
            near_miss="""
            graph g(x: f32[2,3]) {
              const one: f32[] = literal(1.5)
              const other: f64[] = literal(1.5)
              a: f32[2,3] = mul(x, one)
              b: f64[2,3] = cast(x, to=f64)
              c: f64[2,3] = mul(b, other)
              return a, c
            }
            """,
        ),
    ],
)
def common_subexpression_elimination(graph: Graph, log: Log) -> Graph:
    """Keep one of several nodes that compute the same value.

    Readers of duplicates then read the remaining node, which inherits the origins of the
    duplicates. Equal constants merge first, which makes their readers equal. Constants are
    equal if their bits are equal, whether stored in the model file, in memory or as a splat.
    Non-deterministic operators are never merged. Source: ConstantSharing of ONNX Runtime,
    LiteralCanonicalizer of XLA.
    """
    while (merged := _merged(graph, log)) is not graph:
        # Data-dependent sizes are named after values: merging two values makes their sizes equal.
        graph = infer(merged)[0] if _has_sizes_of_data(merged) else merged
        if graph.nodes == merged.nodes:
            break
    return graph


def _has_sizes_of_data(graph: Graph) -> bool:
    given = open_symbols(v.type for v in graph.inputs)
    return any(not open_symbols(n.types) <= given for n in graph.nodes)


def _merged(graph: Graph, log: Log) -> Graph:
    """Merge equal nodes in one walk; return the same graph object if none are equal."""
    ed = Editor(graph)
    n_merged = _merge_constants(ed, log)
    seen: dict[Any, str] = {}
    for old in graph.nodes:
        node = ed.producer(old.output)
        if node is None or node.regions:
            continue
        if not is_deterministic(node):
            log.declined(
                "common_subexpression_elimination",
                node.output,
                f"{node.op} gives different results on each run",
            )
            continue
        key = _key(node)
        first = ed.producer(seen.setdefault(key, node.output))
        if (
            first is None
            or first is node
            or not log.may("common_subexpression_elimination", node.output)
        ):
            continue
        _merge(ed, first, node, log)
        n_merged += 1
    return ed.graph() if n_merged else graph


def _merge(ed: Editor, first: Node, node: Node, log: Log) -> None:
    for a, b in zip(first.outputs, node.outputs, strict=True):
        if b:
            ed.replace(b, a)
    ed.remove(node)
    origins = merge_origins(first.origins, node.origins)
    ed.update(ed.producer(first.output) or first, replace(first, origins=origins))
    saved = sum(t.nbytes for t in node.types if isinstance(t, TensorType) and t.is_static)
    because = f"{first.output} is the same {node.op} of the same operands; saves {saved:,} bytes"
    log.applied("common_subexpression_elimination", node.output, because, [first, node], [first])


def _key(node: Node) -> Any:
    inputs = tuple(sorted(node.inputs)) if node.op in COMMUTATIVE else node.inputs
    attrs = tuple((k, attribute(v)) for k, v in node.attrs.items())
    left_out = tuple(not o for o in node.outputs)
    return (node.op, inputs, attrs, left_out, tuple(map(str, node.types)))


def _merge_constants(ed: Editor, log: Log) -> int:
    alike: dict[TensorType, list[str]] = {}
    for name, c in ed.constants.items():
        alike.setdefault(c.type, []).append(name)
    return sum(_merge_alike(ed, log, names) for names in alike.values() if len(names) > 1)


def _merge_alike(ed: Editor, log: Log, names: list[str]) -> int:
    """Merge equal constants of one type."""
    seen: dict[bytes, list[str]] = {}
    n_merged = 0
    for name in names:
        c = ed.constants[name]
        candidates = seen.setdefault(_sample(c), [])
        first = next((f for f in candidates if _equal(ed.constants[f], c)), None)
        if first is None:
            candidates.append(name)
            continue
        if not log.may("merge_constants", name):
            continue
        kept = ed.constants[first]
        ed.replace(name, first)
        del ed.constants[name]
        cheaper = min(kept, c, key=lambda k: (not k.is_splat, k.stored_bytes))
        ed.constants[first] = cheaper.with_origins(merge_origins(kept.origins, c.origins))
        because = f"{first} holds the same elements; saves {c.stored_bytes:,} stored bytes"
        log.applied("merge_constants", name, because, [first, name], [first])
        n_merged += 1
    return n_merged


_SAMPLES = 8
_CHUNK = 1 << 18


def _sample(c: Constant) -> bytes:
    """Return a cheap hash key: equal for equal constants, different for most others."""
    if c.type.dtype is DType.string:
        return b""
    n = c.type.n_elements
    return _elements(c, slice(0, n, max(n // _SAMPLES, 1)))


def _equal(a: Constant, b: Constant) -> bool:
    """Whether constants of one type have equal bits, regardless of their storage."""
    if a.storage == b.storage:
        return True
    if a.type.dtype is DType.string:
        return bool((a.array() == b.array()).all())
    if a.is_splat and b.is_splat:
        return _elements(a, slice(0, 1)) == _elements(b, slice(0, 1))
    pieces = (slice(i, i + _CHUNK) for i in range(0, a.type.n_elements, _CHUNK))
    return all(_elements(a, p) == _elements(b, p) for p in pieces)


def _elements(c: Constant, which: slice) -> bytes:
    """Return the bits of some elements, without materialising a splat."""
    if isinstance(c.storage, Splat):
        n = len(range(c.type.n_elements)[which])
        return np.full(n, c.storage.value, c.type.dtype.numpy).tobytes()
    return c.array().reshape(-1)[which].tobytes()
