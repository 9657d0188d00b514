"""The pass that recognises a step of a long short-term memory (LSTM), with two results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, merge_origins
from compiler.ir.operator import Out
from compiler.ir.types import TensorType, Type
from compiler.passes.engine.cost import cost_of
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.matching import Match, match
from compiler.passes.engine.pattern import Any, Named
from compiler.passes.engine.rule import ROUNDINGS
from compiler.passes.engine.step_kind import step_kind
from compiler.passes.rules.calls import o
from compiler.passes.rules.views.cuts import cuts
from compiler.trace import Log

_RULE = "lstm_cell_of_gates"
_KEPT = o.mul(o.sigmoid(Any("f")), Any("c"))
_FILLED = o.mul(o.sigmoid(Any("i")), o.tanh(Any("g")))
_STEP = o.mul(o.sigmoid(Any("o")), o.tanh(Named("new", o.add(_KEPT, _FILLED))))


@graph_pass(
    needs=["constants"],
    example="""
    graph g(z: f32[3,8], c: f32[3,2]) {
      f: f32[3,2], i: f32[3,2], g: f32[3,2], s: f32[3,2] = split(z, axis=1, sizes=[2,2,2,2])
      fs: f32[3,2] = sigmoid(f)
      is: f32[3,2] = sigmoid(i)
      gt: f32[3,2] = tanh(g)
      kept: f32[3,2] = mul(fs, c)
      filled: f32[3,2] = mul(is, gt)
      new: f32[3,2] = add(kept, filled)
      os: f32[3,2] = sigmoid(s)
      t: f32[3,2] = tanh(new)
      h: f32[3,2] = mul(os, t)
      return h, new
    }
    =>
    graph g(z: f32[3,8], c: f32[3,2]) {
      new_2: f32[3,2], new_3: f32[3,2] = lstm_cell(z, c, order="figo")
      return h=new_3, new=new_2
    }
    """,
    steps=[
        step_kind(
            "lstm_cell_of_gates",
            "Replace the gates of a long short-term memory cell with one node.",
            near_miss="""
            graph g(z: f32[3,8], c: f32[3,2]) {
              f: f32[3,2], i: f32[3,2], g: f32[3,2], s: f32[3,2] = split(z, axis=1, sizes=[2,2,2,2])
              fs: f32[3,2] = sigmoid(f)
              is: f32[3,2] = sigmoid(i)
              gt: f32[3,2] = relu(g)
              kept: f32[3,2] = mul(fs, c)
              filled: f32[3,2] = mul(is, gt)
              new: f32[3,2] = add(kept, filled)
              os: f32[3,2] = sigmoid(s)
              t: f32[3,2] = tanh(new)
              h: f32[3,2] = mul(os, t)
              return h, new
            }
            """,
        ),
    ],
)
def recognise_cells(graph: Graph, log: Log) -> Graph:
    """Recognise the step of an LSTM in the primitives of its gates, in any order.

    The products and biases before the step stay unchanged: exporters differ most there. The
    operator runs as fast as its primitives, so presets for speed omit this pass. The pass serves to
    show the layers of a model.
    """
    if not any(n.op == "tanh" for n in graph.nodes):
        return graph
    ed, n_done = Editor(graph), 0
    for node in graph.nodes:
        if ed.alive(node):
            n_done += _recognise(ed, node, log)
    return ed.graph() if n_done else graph


def _recognise(ed: Editor, root: Node, log: Log) -> bool:
    """Replace the LSTM step that ends at a node; return whether it matched."""
    reason, found = "", None
    for m in match(ed, _STEP, root):
        values = {name: str(v) for name, v in m.bound.items()}
        objection, order = _order(ed, values, root.type)
        reason = objection or _read_elsewhere(ed, m, values["new"])
        found = m
        if not reason:
            if not log.may(_RULE, root.output):
                return False
            _replace(ed, root, m, values, order, log)
            return True
    if found is not None:
        log.declined(_RULE, root.output, reason, reversed(found.nodes))
    return False


def _order(ed: Editor, values: Mapping[str, str], shown: Type) -> tuple[str, str]:
    """Return the reason that gates are not slices of one value, else "", and the gates in order."""
    c, new = ed.type(values["c"]), ed.type(values["new"])
    if not isinstance(c, TensorType) or c.shape is None or not c.shape or not c == new == shown:
        return f"the cell {values['c']} is {c}, the new cell {new}, and the state {shown}", ""
    size = c.shape[-1]
    if not isinstance(size, int) or not c.layout.is_plain or size == 0:
        return f"{values['c']} is {c}, whose last axis is open or 0, or whose layout is blocked", ""
    places: dict[int, str] = {}
    sources: set[str] = set()
    for gate in "ifgo":
        place = _place(ed, values[gate], size)
        if place is None:
            return f"gate {gate}, {values[gate]}, is not a slice of {size} along the last axis", ""
        sources.add(place[0])
        places[place[1]] = gate
    if len(sources) > 1:
        return f"the gates are slices of {', '.join(sorted(sources))}, not of a single value", ""
    z = ed.type(next(iter(sources)))
    if sorted(places) != [0, 1, 2, 3] or not isinstance(z, TensorType):
        return f"the gates are the slices {sorted(places)}, not each of the four slices once", ""
    if z.shape != (*c.shape[:-1], 4 * size) or not z.layout.is_plain:
        return f"the gates are slices of {z}, which is not four times as wide as {c}", ""
    return "", "".join(places[k] for k in range(4))


def _place(ed: Editor, value: str, size: int) -> tuple[str, int] | None:
    """Return the value of which a gate is a slice, and the slice's index in units of `size`."""
    node = ed.producer(value)
    if node is None or node.op not in ("split", "slice"):
        return None
    whole = ed.type(node.inputs[0])
    if not isinstance(whole, TensorType) or whole.shape is None:
        return None
    last, end = len(whole.shape) - 1, whole.shape[-1]
    if node.op == "split":
        sizes: Sequence[int] = node.attrs["sizes"]
        at = node.outputs.index(value)
        if node.attrs["axis"] % len(whole.shape) != last or sizes[at] != size:
            return None
        start = sum(sizes[:at])
    else:
        given = [ed.tensor(v) if v else None for v in node.inputs[1:]]
        starts, ends, axes, steps = (*given, None, None)[:4]
        taken = cuts(last + 1, starts, ends, axes, steps) if starts and ends else None
        if taken is None or list(taken) != [last] or not isinstance(end, int):
            return None
        places = taken[last].of(end)
        if places.step != 1 or len(places) != size:
            return None
        start = places.start
    return (node.inputs[0], start // size) if start % size == 0 else None


def _read_elsewhere(ed: Editor, m: Match, new: str) -> str:
    """Return the objection if an inner value, other than the new cell, has another reader."""
    for node in m.nodes[1:]:
        if node.output != new and ed.n_uses(node.output) != 1:
            return f"{node.output} has another reader"
    return ""


def _replace(
    ed: Editor, root: Node, m: Match, values: Mapping[str, str], order: str, log: Log
) -> None:
    gate = ed.producer(values["i"])
    assert gate is not None, "the gates are slices of a value"
    origins = merge_origins(*(n.origins for n in m.nodes))
    parts = [n for g in "ifgo" if (n := ed.producer(values[g])) is not None]
    ed.made.clear()
    ed.made_constants.clear()
    call = o.lstm_cell(ed.tensor(gate.inputs[0]), ed.tensor(values["c"]), order=order)
    cell = ed.build(Out(call, 0), hint=values["new"], origins=origins)
    state = ed.build(Out(call, 1))
    ed.replace(root.output, state)
    ed.replace(values["new"], cell)
    gone = ed.remove_unused([root.output, *(n.output for n in (*m.nodes, *parts))])
    before = list(dict.fromkeys([*m.nodes, *gone]))
    because = f"the gates {', '.join(order)} of {gate.inputs[0]} update the LSTM cell {values['c']}"
    costs = cost_of(before, ed.type), cost_of(ed.made, ed.type)
    log.applied(_RULE, root.output, because, before, ed.made, ROUNDINGS, "", *costs)
