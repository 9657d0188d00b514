"""Conversion of loops with a known trip count to Scans, whose slices replace gathers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.affine import Expr
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node, Value, all_nodes
from compiler.ir.infer import Facts, typed_regions
from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import DType, TensorType
from compiler.ops.control_flow.control_types import results_of
from compiler.ops.control_flow.loop_form import NOT_PLAIN, is_true, passes_on
from compiler.ops.data_movement.reshape import reshape
from compiler.ops.data_movement.shape import range_
from compiler.ops.data_movement.slice import slice_
from compiler.ops.data_movement.transpose import transpose
from compiler.passes.control_flow.rebuild import Rebuild
from compiler.passes.control_flow.trip_count import (
    AddRecurrence,
    InductionVariables,
    Invariants,
    is_number,
    only,
)
from compiler.passes.engine.declaration import graph_pass
from compiler.trace import Log

MOST_STEPS = 1 << 20
"""Largest trip count for which the iteration numbers are stored as a tensor."""

OPSET = 16


@graph_pass(
    aliases=("slice_loops",),
    needs=["constants"],
    example="""
    graph g(x: f32[5,3], a: f32[3]) {
      const n: i64[] = literal(5)
      y: f32[3], z: f32[5,3] = onnx.Loop(n, _, a, opset=16) {
        body: graph body(i: i64[], on: bool[], s: f32[3]) {
          r: f32[3] = gather(x, i)
          t: f32[3] = add(s, r)
          return on, t, out=t
        }
      }
      return y, z
    }
    =>
    graph g(x: f32[5,3], a: f32[3]) {
      y: f32[3], z: f32[5,3] = onnx.Scan(
          a, x, num_scan_inputs=1, scan_input_directions=[0], opset=16) {
        body: graph body(s: f32[3], r: f32[3]) {
          t: f32[3] = add(s, r)
          return t, out=t
        }
      }
      return y, z
    }
    """,
    near_miss="""
    graph g(x: f32[5,3], a: f32[3]) {
      const n: i64[] = literal(5)
      y: f32[3] = onnx.Loop(n, _, a, opset=16) {
        body: graph body(i: i64[], on: bool[], s: f32[3]) {
          const first: i64[] = literal(0)
          r: f32[3] = gather(x, first)
          t: f32[3] = mul(s, r)
          return on, t
        }
      }
      return y
    }
    """,
)
def loop_to_scan(graph: Graph, log: Log) -> Graph:
    """Turn a Loop that gathers rows in order into a Scan over these rows.

    The iteration number becomes a scanned slice of a tensor of all iteration numbers. If the trip
    count is known only at run time, the length of the tensor of iteration numbers determines the
    size of the scan outputs.
    """
    if not any(n.op == "onnx.Loop" for n in all_nodes(graph)):
        return graph
    slices = _Slices(graph, None, log)
    after = slices.run()
    return after if slices.n_replaced else graph


@dataclass(frozen=True, slots=True)
class _Rows:
    """A gather of one row per iteration, and the scanned operand and direction that replace it."""

    gather: Node
    is_list: bool
    source: Operand
    is_reversed: bool


class _Slices(Rebuild):
    """A rebuilder that converts loops to scans."""

    def __init__(self, graph: Graph, outer: Facts | None, log: Log) -> None:
        super().__init__(graph, outer, log)
        self.outside = Invariants(self.ed)

    def rewrite(self, node: Node) -> bool:
        if node.op != "onnx.Loop":
            return False
        node = typed_regions(node, self.ed.facts)
        objection = self._objection(node)
        if objection:
            self.log.declined("loop_to_scan", node.output, objection, [node])
            return False
        found = InductionVariables(node, self.ed.facts, self.outside)
        length = self._length(node)
        rows = list(self._rows(node, found, length))
        n_states = len(node.inputs) - 2
        gives_pieces = any(node.outputs[n_states:])
        if not rows and (not gives_pieces or isinstance(length, int)):
            self.log.declined(
                "loop_to_scan", node.output, "no gather reads one row per iteration", [node]
            )
            return False
        if not self.log.may("loop_to_scan", node.output):
            return False
        n_made = len(self.ed.made)
        scan = self._scan(node, rows, length)
        self.n_replaced += 1
        self._keep(scan)
        names = ", ".join(dict.fromkeys(r.gather.inputs[0] for r in rows))
        because = (
            f"each iteration reads the next row of {names}"
            if rows
            else "in a Scan, the trip count determines the size of the outputs"
        )
        self.log.applied("loop_to_scan", node.output, because, [node], self.ed.made[n_made:])
        return True

    def _objection(self, node: Node) -> str:
        """Return the reason that a loop cannot become a Scan, or "" if it can."""
        body = node.regions["body"]
        if len(body.inputs) != len(node.inputs):
            return "the body of the loop does not match the operands"
        trip, start = node.inputs[:2]
        if not passes_on(body, self.ed.constants):
            return "a condition computed in the body ends the loop"
        if not trip or not is_number(self.ed.type(trip)):
            return "the loop has no trip count"
        if start:
            known = self.ed.known(start)
            if known is None or known.dtype == np.object_ or not is_true(known):
                return f"the condition {start} determines whether the loop starts"
        made = results_of(body, self.ed.facts.types)[1:]
        for k, state in enumerate(node.inputs[2:]):
            given = body.inputs[2 + k].type
            if not state or not (self.ed.type(state) == given == made[k]):
                return f"the state initialised with {state} changes its type"
            if not isinstance(given, TensorType) or given.dtype is DType.string:
                return f"the state initialised with {state} has type {given}, not a numeric tensor"
        for t in made:
            if not isinstance(t, TensorType) or not t.is_ranked or t.dtype is DType.string:
                return f"the body returns {t}, {NOT_PLAIN}"
        n = self.ed.known(trip)
        if n is not None and isinstance(only(n), int) and int(only(n)) > MOST_STEPS:
            return f"the loop has more than {MOST_STEPS:,} iterations"
        return ""

    def _length(self, node: Node) -> Expr | None:
        """Return the trip count if known, possibly as an expression of sizes."""
        known = self.ed.known(node.inputs[0])
        if known is None:
            return None
        found = only(known)
        return max(found, 0) if isinstance(found, int) else found

    def _rows(self, node: Node, found: InductionVariables, length: Expr | None) -> Iterator[_Rows]:
        if length is None:
            return
        inside = set(found.graph.types)
        for gather in found.graph.nodes:
            if gather.op != "gather" or gather.inputs[0] in inside:
                continue
            recurrence = found.recurrence_of(gather.inputs[1])
            x, index = self.ed.tensor(gather.inputs[0]), found.types[gather.inputs[1]]
            assert isinstance(index, TensorType), "indices are a tensor"
            if recurrence is None or not recurrence.step or index.rank > 1 or x.type.shape is None:
                continue
            steps = self.outside.recurrence_of(node.inputs[0])
            made = _read(x, gather.attrs["axis"] % x.rank, recurrence, length, steps)
            if made is not None:
                yield _Rows(gather, index.rank == 1, *made)

    def _scan(self, node: Node, rows: list[_Rows], length: Expr | None) -> Node:
        body = node.regions["body"]
        counter, going = body.inputs[0].name, body.inputs[1].name
        inputs, scanned = list(body.inputs[2:]), list[str]()
        nodes = list(body.nodes)
        for r in rows:
            at = next(i for i, n in enumerate(nodes) if n.output == r.gather.output)
            inputs.append(_slice_of(r, nodes, at, self.ed.fresh))
            scanned.append(self._named(r.source, node))
        results = body.results[1:]
        read = {i for n in nodes for i in n.reads} | {r.value for r in results}
        if counter in read or not scanned:
            inputs.append(Value(counter, TensorType(DType.i64, ())))
            scanned.append(self._named(self._numbers(node, length), node))
        constants = dict(body.constants)
        if going in read:
            constants[going] = Constant.of(np.array(True))
        region = replace(
            body, inputs=tuple(inputs), results=results, nodes=tuple(nodes), constants=constants
        )
        reversed_ = [int(r.is_reversed) for r in rows] + [0] * (len(scanned) - len(rows))
        attrs = {
            "num_scan_inputs": len(scanned),
            "scan_input_directions": tuple(reversed_),
            "opset": OPSET,
        }
        given = (*node.inputs[2:], *scanned)
        return replace(node, op="onnx.Scan", inputs=given, attrs=attrs, regions={"body": region})

    def _numbers(self, node: Node, length: Expr | None) -> Operand:
        """Return a tensor of the iteration numbers."""
        if isinstance(length, int):
            return np.arange(length, dtype=np.int64)
        trip = self.ed.tensor(node.inputs[0])
        end = reshape(trip, np.zeros(0, np.int64)) if trip.rank else trip
        return range_(np.array(0, np.int64), end, np.array(1, np.int64))

    def _named(self, operand: Operand, node: Node) -> str:
        value = self.ed.build(operand, hint=f"{node.output}.rows", origins=node.origins)
        self.used.add(value)
        return value


def _read(
    x: Tensor, axis: int, recurrence: AddRecurrence, length: Expr, steps: AddRecurrence | None
) -> tuple[Operand, bool] | None:
    """Return the tensor whose rows the iterations read, and whether rows are read backwards."""
    order = (axis, *(i for i in range(x.rank) if i != axis))
    source: Operand = transpose(x, perm=order) if axis else x
    if x.shape[axis] == length:
        if recurrence == AddRecurrence(0, step=1):
            return source, False
        if steps is not None and recurrence == replace(steps.plus(AddRecurrence(1), -1), step=-1):
            return source, True
    first, room = recurrence.known_start, x.shape[axis]
    if first is None or not isinstance(length, int) or not isinstance(room, int) or not length:
        return None
    last = first + recurrence.step * (length - 1)
    low, high = min(first, last), max(first, last)
    if low < 0 or high >= room:
        return None
    bounds = (np.array([n], np.int64) for n in (low, high + 1, 0, abs(recurrence.step)))
    return slice_(source, *bounds), recurrence.step < 0


def _slice_of(r: _Rows, nodes: list[Node], at: int, fresh: Callable[[str], str]) -> Value:
    """Replace a gather in the body with a scanned slice; return this new input of the body.

    A gather with one index in a tensor of rank 1 keeps the gathered axis, with size 1.
    """
    gather = nodes[at]
    t = gather.tensor
    if not r.is_list:
        del nodes[at]
        return Value(gather.output, t)
    name, axis = fresh(f"{gather.output}.row"), gather.attrs["axis"] % t.rank
    nodes[at] = replace(gather, op="unsqueeze", inputs=(name,), attrs={"axes": (axis,)})
    return Value(name, TensorType(t.dtype, (*t.dims[:axis], *t.dims[axis + 1 :])))
