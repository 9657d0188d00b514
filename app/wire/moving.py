"""Payloads of moving pictures: frames of loops, of plans, and of passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.wire.shapes import lessons as shapes
from app.wire.small_graphs import MOST_DRAWN, Line, boxes_of, drawn, lines_of
from compiler.ir.graph import Graph
from course.graphs import read_graph


def motion(found: Mapping[str, Any]) -> shapes.LessonMotion:
    """Return the moving picture of a block."""
    kind, frames = found["kind"], found["frames"]
    made: shapes.LessonMotion = {
        "kind": kind,
        "omitted": found["omitted"],
        "order": found.get("order", ""),
        "matrices": found.get("matrices", []),
        "walk": frames if kind == "walk" else [],
        "places": frames if kind == "places" else [],
        "rewrites": [],
        "drawing": None,
        "lines": [],
    }
    if kind == "rewrites" and not found["omitted"]:
        _draw(made, frames, [read_graph(text) for text in found["graphs"]])
    return made


def _draw(
    made: shapes.LessonMotion, frames: Sequence[Mapping[str, Any]], graphs: Sequence[Graph]
) -> None:
    """Add one drawing of all graphs, in which no node moves, and the visible part per frame."""
    union = _Union()
    parts = [union.add(g) for g in graphs]
    boxes, lines = [*union.boxes.values()], [*union.lines]
    if len(boxes) > MOST_DRAWN:
        made["omitted"] = f"its graphs have {len(boxes)} nodes; the limit is {MOST_DRAWN}"
        return
    number = {b["key"]: i for i, b in enumerate(boxes)}
    made["drawing"] = drawn(boxes, lines)
    made["lines"] = [[*line] for line in lines]
    for frame in frames:
        keys, own = parts[frame["graph"]]
        made["rewrites"].append(
            {
                "phase": frame["phase"],
                "step": frame["step"],
                "rule": frame["rule"],
                "at": frame["at"],
                "because": frame["because"],
                "took": frame["took"],
                "made": frame["made"],
                "boxes": sorted({number[key] for key in keys.values()}),
                "marked": sorted({number[keys[name]] for name in frame["marked"]}),
                "lines": [union.lines[line] for line in own],
            }
        )


class _Union:
    """All boxes and lines of several graphs. Nodes with equal outputs and labels share a box."""

    def __init__(self) -> None:
        self.boxes: dict[tuple[str, str, str], shapes.DrawnNode] = {}
        self.lines: dict[Line, int] = {}

    def add(self, graph: Graph) -> tuple[dict[str, str], list[Line]]:
        """Add a graph; return the keys of its boxes by value or result, and its lines."""
        keys: dict[str, str] = {}
        results: dict[str, str] = {}
        for box, values in boxes_of(graph):
            kind = box["op"] if box["op"] in ("input", "result") else "node"
            named = (kind, box["id"], box["label"])
            shared = self.boxes.setdefault(named, {**box, "key": f"u{len(self.boxes)}"})
            keys |= dict.fromkeys(values, shared["key"])
            if kind == "result":
                results[box["key"]] = shared["key"]
        found = [(source, results.get(target, target)) for source, target in lines_of(graph, keys)]
        for line in found:
            self.lines.setdefault(line, len(self.lines))
        return {**keys, **{f"result {key}": key for key in results.values()}}, found
