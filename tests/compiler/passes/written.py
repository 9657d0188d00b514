"""Graphs with one input, written as a call per line, with inferred types."""

from __future__ import annotations

from compiler.ir.graph import Graph
from compiler.passes import PASSES
from tests.compiler.passes.numbers import graph

_NUMBERS = """
  const zero: f32[] = literal(0.0)
  const one: f32[] = literal(1.0)
  const two: f32[] = literal(2.0)
  const three: f32[] = literal(3.0)
  const half: f32[] = literal(0.5)
  const minus: f32[] = literal(-1.0)
  const minus_half: f32[] = literal(-0.5)
  const eps: f32[1] = literal(0.001)
  const five: f32[] = literal(5.0)
  const fifth: f32[] = literal(0.2)
  const root2: f32[] = literal(1.4142135)
  const half_root: f32[1,1,1] = literal(0.70710677)
  const bend: f32[] = literal(0.044715)
  const pi: f32[] = literal(0.7978845)
  const bent: f32[] = literal(0.035677407)
  const twice: f32[] = literal(1.595769)
  const quick: f32[] = literal(1.702)
  const w: f32[5] = literal(1.0,-2.0,0.5,3.0,0.25)
  const b: f32[5] = literal(0.5,1.0,-1.0,0.0,2.0)
  const least: f32[] = literal(-inf)
  const twenty: f32[] = literal(20.0)
"""


def written(body: str) -> Graph:
    """Return a graph of x: f32[2,3,5] with one node per line and inferred types."""
    lines, types = [], {"x": "f32[2,3,5]"}
    for line in filter(None, map(str.strip, body.strip().splitlines())):
        name, _, call = line.partition(" = ")
        op = call.partition("(")[0]
        shape = "f32[2,3,5]"
        if op.startswith("reduce"):
            axes = call.rsplit("[", 1)[1].partition("]")[0].split(",")
            shape = f"f32[{','.join('1' if str(i) in axes else n for i, n in enumerate('235'))}]"
            if "keepdims=false" in call:
                shape = shape.replace("1,", "").replace(",1", "")
        elif op == "unsqueeze":
            shape = "f32[2,3,1]"
        elif op not in ("mul", "add", "sub", "where", "div"):
            shape = types.get(call.partition("(")[2].partition(",")[0].rstrip(")"), shape)
        elif op != "where":
            given = [types.get(v.strip(), "f32[]") for v in call.partition("(")[2][:-1].split(",")]
            shape = max(given, key=lambda t: (len(t), t.count("1") == 0, _places(t)))
        types[name] = shape
        kind = shape.replace("f32", "bool") if op in ("greater", "less", "greater_equal") else shape
        lines.append(f"{name}: {kind} = {call}")
    made = graph(f"graph g(x: f32[2,3,5]) {{ {_NUMBERS} {' '.join(lines)} return y }}")
    return PASSES["dead_code_elimination"].run(made)


def _places(t: str) -> int:
    total = 1
    for n in filter(None, t.partition("[")[2][:-1].split(",")):
        total *= int(n)
    return total
