"""Payloads of lessons: results of blocks, drawings of small graphs, and verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from app.wire.graphs import family
from app.wire.problems import problem
from app.wire.shapes import lessons as shapes
from compiler.errors import CompileError
from compiler.ir.graph import Graph, Node
from course.blocks.results import Results
from course.blocks.run import Ran
from course.graphs import read_graph
from course.quantities import Amount, quantity_named

MOST_DRAWN = 60
"""Maximum number of nodes of a drawing; larger graphs are shown as text only."""
_MOST_STEPS = 200
_MOST_ROUNDS = 400
_MOST_TEXT = 60_000
_INCH = 72.0
_CHARACTER, _MARGIN, _HEIGHT = 7.2, 22.0, 42.0
"""Sizes of a box in px: of a character, of both margins, and the height."""
_STYLE = (
    f"graph [nodesep=0.3 ranksep=0.36] node [shape=box fixedsize=true height={_HEIGHT / _INCH:.3f}]"
)
_NAMES_IN_FUSION = 4
_DETAIL_CHARACTERS = 30


def block(position: int, ran: Ran) -> shapes.LessonBlock:
    """Return the results of a block that ran."""
    of, found = ran.block, ran.results or Results()
    data = found.data
    measure = [quantity_named(q) for q in of.content.measure] if of.kind == "experiment" else []
    rounds: Mapping[str, Any] = data.get("rounds", {})
    cases: Mapping[str, Any] = data.get("cases", {})
    return {
        "block": position,
        "name": of.name,
        "kind": of.kind,
        "seconds": ran.seconds,
        "amounts": {name: amount(a) for name, a in found.amounts.items()},
        "texts": {name: text[:_MOST_TEXT] for name, text in found.texts.items()},
        "output": found.output,
        "error": problem(ran.error) if ran.error else None,
        "drawings": drawings({k: found.texts[k] for k in _GRAPHS if k in found.texts}),
        "passes": [_pass(p) for p in data.get("passes", [])],
        "measure": [
            {"name": q.name, "unit": q.unit, "words": q.words, "timed": q.is_timed} for q in measure
        ],
        "cases": [_case(name, c, rounds.get(name, ())) for name, c in cases.items()],
        "buffers": data.get("buffers", []),
        "right": _right(ran),
    }


_GRAPHS = ("graph", "before", "after", "answer")
"""The texts that are graphs."""


def _case(name: str, case: Mapping[str, Any], rounds: Sequence[float]) -> shapes.LessonCase:
    return {
        "name": name,
        "pipeline": case["pipeline"],
        "words": case["words"],
        "rounds": list(rounds[:_MOST_ROUNDS]),
    }


def _right(ran: Ran) -> int | None:
    answer = ran.results.amounts.get("answer") if ran.results else None
    is_choice = ran.block.kind == "predict" and bool(ran.block.content.choices)
    return int(answer.value) - 1 if answer and is_choice else None


def _pass(found: Mapping[str, Any]) -> shapes.LessonPass:
    steps = found["steps"]
    return cast(
        shapes.LessonPass,
        {**found, "steps": steps[:_MOST_STEPS], "n_more": max(0, len(steps) - _MOST_STEPS)},
    )


def amount(found: Amount) -> shapes.LessonAmount:
    """Return an amount with its text."""
    low, high = (None if x is None else _finite(x) for x in (found.low, found.high))
    return {
        "value": _finite(found.value),
        "unit": found.unit,
        "text": found.text(),
        "low": low,
        "high": high,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def judgement(answer: Mapping[str, Any]) -> shapes.Judgement:
    """Return the answer of the judge as a payload, with drawings of its counterexamples."""
    found = dict(answer)
    found["tests"] = [_test(t) for t in answer["tests"]]
    found["scores"] = [
        {**s, "value": _finite(s["value"]), "goal": _finite(s["goal"])} for s in answer["scores"]
    ]
    return cast(shapes.Judgement, found)


def _test(test: Mapping[str, Any]) -> dict[str, Any]:
    case = test.get("counterexample")
    if not case:
        return {k: v for k, v in test.items() if k != "counterexample"}
    texts = {k: case[k] for k in ("graph", "answer") if isinstance(case.get(k), str)}
    return {**test, "counterexample": {**case, "drawings": drawings(texts)}}


def drawings(texts: Mapping[str, str]) -> dict[str, shapes.GraphDrawing]:
    """Return drawings of graphs by name; texts that are no graphs have none."""
    found: dict[str, shapes.GraphDrawing] = {}
    for name, text in texts.items():
        try:
            found[name] = drawing(read_graph(text, name))
        except CompileError:
            continue
    return found


def drawing(graph: Graph) -> shapes.GraphDrawing:
    """Return the drawing of a graph, without constants."""
    if len(graph.nodes) > MOST_DRAWN:
        return {"dot": "", "nodes": [], "n_more": len(graph.nodes)}
    boxes = list(_boxes(graph))
    keys = {name: key for key, _, names in boxes for name in names}
    lines = [f"{b['key']} [width={_width(b) / _INCH:.3f}]" for _, b, _ in boxes]
    for node in graph.nodes:
        target = keys[node.outputs[0]]
        sources = dict.fromkeys(keys[i] for i in _reads(node) if i in keys)
        lines += (f"{source} -> {target}" for source in sources)
    lines += (f"{keys[r.value]} -> r{i}" for i, r in enumerate(graph.results) if r.value in keys)
    return {
        "dot": "\n".join(("digraph {", _STYLE, *lines, "}")),
        "nodes": [b for _, b, _ in boxes],
        "n_more": 0,
    }


def _reads(node: Node) -> Iterator[str]:
    """Yield the operands of a node, and the values of the graph that its regions capture."""
    yield from node.inputs
    for region in node.regions.values():
        for inner in region.nodes:
            yield from _reads(inner)


def _boxes(graph: Graph) -> Iterator[tuple[str, shapes.DrawnNode, tuple[str, ...]]]:
    """Yield the key of each box, the box, and the values that it defines."""
    for i, v in enumerate(graph.inputs):
        yield f"i{i}", _box(f"i{i}", v.name, "input", v.name, str(v.type), "input"), (v.name,)
    for i, node in enumerate(graph.nodes):
        name = node.outputs[0]
        detail = f"{name}: {node.types[0]}"
        yield (
            f"n{i}",
            _box(f"n{i}", name, node.op, _label(node), detail, family(node)),
            node.outputs,
        )
    for i, r in enumerate(graph.results):
        yield f"r{i}", _box(f"r{i}", r.name, "result", r.name, "result", "result"), ()


def _box(key: str, name: str, op: str, label: str, detail: str, kind: str) -> shapes.DrawnNode:
    short = detail if len(detail) <= _DETAIL_CHARACTERS else f"{detail[: _DETAIL_CHARACTERS - 1]}…"
    return {"key": key, "id": name, "op": op, "label": label, "detail": short, "family": kind}


def _label(node: Node) -> str:
    """Return the operator of a node; for a fusion, the operators inside."""
    if node.op != "fusion":
        return node.op
    inside = [n.op for region in node.regions.values() for n in region.nodes]
    shown = inside[:_NAMES_IN_FUSION]
    return " · ".join([*shown, f"+ {len(inside) - len(shown)}"] if inside[len(shown) :] else shown)


def _width(box: shapes.DrawnNode) -> float:
    return _MARGIN + _CHARACTER * max(len(box["label"]), 0.86 * len(box["detail"]), 5)
