"""Common subexpressions: equal nodes and equal constants are kept once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compiler.ir.constant import Bytes, Constant, FileRange, Literal, Splat
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, merge_origins
from compiler.ir.text import attribute
from compiler.ir.types import TensorType
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.determinism import is_deterministic
from compiler.passes.engine.pattern import COMMUTATIVE
from compiler.trace import Log


@graph_pass(
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
)
def merge_common(graph: Graph, log: Log) -> Graph:
    """Keep one of several nodes that compute the same from the same operands.

    The others' readers read the one that is kept, which takes over their origins. Equal constants
    are merged first, since they make their readers equal. Operators whose results differ from run
    to run are left alone.
    """
    ed = Editor(graph)
    n_merged = _merge_constants(ed, log)
    seen: dict[Any, str] = {}
    for old in graph.nodes:
        node = ed.producer(old.output)
        if node is None or node.regions:
            continue
        if not is_deterministic(node):
            log.declined("merge_common", node.output, f"{node.op} gives other results each time")
            continue
        key = _key(node)
        first = ed.producer(seen.setdefault(key, node.output))
        if first is None or first is node or not log.may("merge_common", node.output):
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
    because = f"{first.output} is the same {node.op} of the same operands; {saved:,} bytes less"
    log.applied("merge_common", node.output, because, [first, node], [first])


def _key(node: Node) -> Any:
    inputs = tuple(sorted(node.inputs)) if node.op in COMMUTATIVE else node.inputs
    attrs = tuple((k, attribute(v)) for k, v in node.attrs.items())
    left_out = tuple(not o for o in node.outputs)
    return (node.op, inputs, attrs, left_out, tuple(map(str, node.types)))


def _merge_constants(ed: Editor, log: Log) -> int:
    seen: dict[Any, list[str]] = {}
    n_merged = 0
    for name, c in list(ed.constants.items()):
        candidates = seen.setdefault(_fingerprint(c), [])
        first = next((f for f in candidates if _equal(ed.constants[f], c)), None)
        if first is None:
            candidates.append(name)
            continue
        if not log.may("merge_constants", name):
            continue
        kept = ed.constants[first]
        ed.replace(name, first)
        del ed.constants[name]
        ed.constants[first] = kept.with_origins(merge_origins(kept.origins, c.origins))
        because = f"{first} holds the same elements; {c.stored_bytes:,} bytes less are stored"
        log.applied("merge_constants", name, because, [first, name], [first])
        n_merged += 1
    return n_merged


def _fingerprint(c: Constant) -> Any:
    """What equal constants have in common and most others do not; costs next to nothing."""
    match c.storage:
        case Splat(value):
            return (c.type, "splat", attribute(Constant.of(value, c.type.dtype)))
        case FileRange(path, offset, nbytes):
            return (c.type, path, offset, nbytes)
        case Literal(values):
            return (c.type, "literal", attribute(Constant(c.type, Literal(values))))
        case Bytes(values):
            few = values.reshape(-1)
            few = few[:: max(few.size // 8, 1)]
            return (c.type, "bytes", few.tobytes() if few.dtype != object else len(few))


def _equal(a: Constant, b: Constant) -> bool:
    if isinstance(a.storage, Bytes):
        return a.storage == b.storage
    return True
