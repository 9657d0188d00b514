"""The text form of graphs, which parses back to an equal graph.

    graph g(x: f32[N,3]) {
      const w: f32[3,4] = splat(0.5)
      h: f32[N,4] = matmul(x, w) @ "MatMul 0" <- m0, m1
      a: f32[N,1], b: f32[N,3] = split(h, axis=1, sizes=[1,3])
      return a, second=b
    }

The storage of a constant is a splat, literal elements, numbers drawn from a seed, or loaded bytes.
A node is one line: outputs with types, operator, operands (`_` if omitted), attributes including
defaults. `@` precedes the node's name if it differs from the first output's name; `<-` precedes
origins that differ from the node's name. Regions follow as blocks. Names that are not identifiers
are quoted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.ir.constant import Bytes, Constant, FileRange, Literal, Seeded, Splat
from compiler.ir.graph import Graph, Node
from compiler.ir.parser import WORD, Parser, parsed
from compiler.ir.types import DType

_RESERVED = {"_", "return", "const", "graph"}


def quote(name: str) -> str:
    """Print a name, quoted unless it is an identifier."""
    return name if WORD.fullmatch(name) and name not in _RESERVED else quoted(name)


def quoted(text: str) -> str:
    """Quote a string. Letters of all scripts stay unchanged; invisible characters become \\uXXXX.

    Names stay readable, and bidirectional control characters cannot reorder lines.
    """
    plain = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in plain)


def print_graph(g: Graph) -> str:
    """Print a graph."""
    return "\n".join(_graph_lines(g))


def _graph_lines(g: Graph) -> Iterator[str]:
    inputs = ", ".join(f"{quote(v.name)}: {v.type}" for v in g.inputs)
    yield f"graph {quote(g.name)}({inputs}) {{"
    for name, c in g.constants.items():
        origins = f" <- {', '.join(map(quote, c.origins))}" if c.origins else ""
        yield f"  const {quote(name)}: {c.type} = {storage_text(c)}{origins}"
    for n in g.nodes:
        yield from (f"  {line}" for line in node_lines(n))
    results = ", ".join(
        quote(r.name) if r.name == r.value else f"{quote(r.name)}={quote(r.value)}"
        for r in g.results
    )
    yield f"  return {results}".rstrip()
    yield "}"


def node_lines(n: Node) -> Iterator[str]:
    """Return the lines of one node; a node with regions has several lines."""
    outputs = ", ".join(
        f"{quote(o)}: {t}" if o else f"_: {t}" for o, t in zip(n.outputs, n.types, strict=True)
    )
    operands = [quote(i) if i else "_" for i in n.inputs]
    attrs = [f"{quote(k)}={attribute(v)}" for k, v in n.attrs.items()]
    line = f"{outputs} = {quote(n.op)}({', '.join(operands + attrs)})"
    if n.name != n.output:
        line += f" @ {quote(n.name)}"
    if n.origins != (n.name,):
        line += f" <- {', '.join(map(quote, n.origins)) or '_'}"
    if not n.regions:
        yield line
        return
    yield line + " {"
    for key, region in n.regions.items():
        first, *rest = _graph_lines(region)
        yield f"  {quote(key)}: {first}"
        yield from (f"  {r}" for r in rest)
    yield "}"


def attribute(value: Any) -> str:
    """Print an attribute value."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case int() | float() | DType():
            return repr(value)
        case str():
            return quoted(value)
        case bytes():
            return f'hex("{value.hex()}")'
        case tuple():
            return "[" + ",".join(map(attribute, value)) + "]"
        case Constant():
            return f"tensor({value.type}, {storage_text(value)})"
        case _:
            return f"type({value})"


def storage_text(c: Constant) -> str:
    """Print the storage of a constant."""
    match c.storage:
        case Splat(value):
            one = np.asarray(value, c.type.dtype.numpy).reshape(1)
            return f"splat({_elements(one, c.type.dtype)})"
        case Seeded(seed, deviation):
            return f"seeded({seed}, {deviation!r})"
        case Literal(values):
            return f"literal({_elements(values.reshape(-1), c.type.dtype)})"
        case Bytes() as b:
            return f'blob("{b.digest}")'
        case FileRange() as f:
            return f"file({quoted(f.label())})"


def _elements(flat: np.ndarray[Any, Any], dtype: DType) -> str:
    if dtype is DType.string:
        return ",".join(quoted(_as_str(v)) for v in flat)
    if dtype is DType.bool:
        return ",".join("true" if v else "false" for v in flat)
    if dtype.is_integer:
        return ",".join(str(int(v)) for v in flat)
    if dtype in (DType.c64, DType.c128) or np.isnan(flat.astype(np.float64)).any():
        return f'hex("{flat.tobytes().hex()}")'
    if dtype is DType.f64:
        return ",".join(repr(float(v)) for v in flat)
    return ",".join(str(v) if dtype is DType.f32 else repr(float(v)) for v in flat)


def _as_str(v: Any) -> str:
    return v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v)


def parse_graph(text: str, source: str = "text") -> Graph:
    """Parse a graph, without verifying names, types and structure.

    Errors: E-TEXT-SYNTAX with line and column, E-TEXT-STORAGE for a constant whose bytes are not
    loaded.
    """
    return parsed(Parser(text, source))
