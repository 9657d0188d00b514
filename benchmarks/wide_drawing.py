"""A drawing of many nodes at fixed positions, which replaces a model's drawing in a page."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Page, Route


def show_wide(page: Page, n_columns: int, n_rows: int) -> None:
    """Make the page draw a grid of nodes instead of the compiled model."""
    made = wide_drawing(n_columns, n_rows)
    page.route("**/union*", _answers(made["union"]))
    page.route("**/stages/*/delta", _answers(made["graph"]))
    page.route("**/worker*.js*", lambda route: _fake_layout(route, made["layout"]))


def wide_drawing(n_columns: int, n_rows: int) -> dict[str, Any]:
    """Return payloads and positions of a grid of nodes, each read by two nodes of the next row."""
    w, h, dx, dy = 120, 40, 150, 90
    names = [f"v{i}" for i in range(n_columns * n_rows)]
    links = [
        (i, (i // n_columns + 1) * n_columns + (i + step) % n_columns)
        for i in range(n_columns * (n_rows - 1))
        for step in (0, 1)
    ]
    kinds = ("contraction", "elementwise", "reduction", "movement", "view")
    entry = {"kind": "node", "op": "add", "types": ["f32[1,64,56,56]"], "inputs": [], "attrs": {}}
    nodes = [
        {
            **entry,
            "id": n,
            "name": n,
            "family": kinds[i % 5],
            "outputs": [n],
            "origins": [n],
            "regions": {},
        }
        for i, n in enumerate(names)
    ]
    graph = {
        "stage": 0,
        "graph_stage": 0,
        "name": "wide",
        "against": -1,
        "nodes": [[0, 0, nodes]],
        "edges": [[0, 0, [[names[a], names[b], 0, names[a]] for a, b in links]]],
        "constants": [],
        "added": [],
        "changed": [],
        "removed": [],
    }
    union = {
        "dot": "",
        "n_nodes": len(names),
        "n_drawn": len(names),
        "collapsed": False,
        "nodes": [
            {"key": f"n{i}", "id": n, "stages": [[0, 99]], "group": "", "width": w, "height": h}
            for i, n in enumerate(names)
        ],
        "groups": [],
    }
    at = [(i % n_columns * dx + w, i // n_columns * dy + h) for i in range(len(names))]
    edges = []
    for a, b in links:
        (xa, ya), (xb, yb) = at[a], at[b]
        path = [xa, ya + h / 2, xa, ya + 40, xb, yb - 40, xb, yb - h / 2]
        edges.append({"from": f"n{a}", "to": f"n{b}", "path": path, "tip": None})
    layout = {
        "width": n_columns * dx + w,
        "height": n_rows * dy + h,
        "nodes": [{"key": f"n{i}", "x": x, "y": y, "w": w, "h": h} for i, (x, y) in enumerate(at)],
        "edges": edges,
    }
    return {"graph": graph, "union": union, "layout": layout}


def _answers(payload: Any) -> Any:
    body = json.dumps(payload)
    return lambda route: route.fulfill(body=body, content_type="application/json")


def _fake_layout(route: Route, layout: Any) -> None:
    """Replace the layout engine by fixed positions."""
    script = (
        f"const layout = {json.dumps(layout)};"
        + """
        self.onmessage = ({data: {id, asked}}) => {
          if (!asked) return;
          self.postMessage({id, layout});
          self.postMessage({id, levels: [["", 0]], seconds: 0});
        };"""
    )
    route.fulfill(body=script, content_type="text/javascript")
