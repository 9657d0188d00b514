"""The static form of a Loop or Scan: its carried states, slices and trip count.

The states of a loop in static form have fixed types. Each iteration reads a slice of some operands
and writes a slice of some results. Generated code can run a loop in static form without checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.affine import Expr
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import Array
from compiler.ir.types import DType, TensorType, Type
from compiler.ops.control_flow.control import always_goes_on, entry, is_batched, n_scanned

ENDLESS = 1 << 40
"""A trip count beyond what a run can execute: an unconditional loop with this trip count never
ends."""


ROOM = "room"
"""An attribute of a Loop in a compiled program: the capacity of scanned results, in iterations.

The trip count never exceeds this capacity; elements after the last iteration are unspecified.
"""


NOT_PLAIN = "not a numeric tensor of known rank"
"""The end of each reason that states an unsupported type."""

NO_CONSTANTS: Mapping[str, Constant] = {}


@dataclass(frozen=True, slots=True)
class State:
    """A loop-carried value: its initial value, and the output for its last value ("" if unread)."""

    start: str
    output: str
    type: TensorType


@dataclass(frozen=True, slots=True)
class Slices:
    """An operand or result; each iteration reads or writes one slice along its first axis."""

    value: str
    type: TensorType
    is_reversed: bool = False


@dataclass(frozen=True, slots=True)
class LoopForm:
    """A loop that generated code can run in a single launch.

    `trip` is the trip count: a number, an expression of sizes, the name of a value, or None for no
    limit. `condition` names the value of the initial condition ("" for true). `tests` is true if
    the body's first result is the condition. `counts` is true if the body's inputs include the
    iteration number and the condition.
    """

    trip: Expr | str | None
    condition: str
    tests: bool
    counts: bool
    states: tuple[State, ...]
    slices: tuple[Slices, ...]
    pieces: tuple[Slices, ...]

    @property
    def n_steps(self) -> int | None:
        """Return the trip count if it is known."""
        return self.trip if isinstance(self.trip, int) and not self.tests else None


def passes_on(body: Graph, constants: Mapping[str, Constant] = NO_CONSTANTS) -> bool:
    """Return whether the condition of a loop stays true.

    The condition stays true if the body returns it unchanged, or returns the constant true.
    """
    c = constants.get(body.results[0].value)
    return always_goes_on(body) or (c is not None and is_true(c.array()))


def is_true(value: Array) -> bool:
    """Return whether a known condition is true."""
    return value.size == 1 and bool(value.reshape(-1)[0])


def known_steps(node: Node, known: Sequence[Array | None]) -> int | None:
    """Return the trip count of a Loop, if known operands determine it."""
    limit, condition = (*known, None, None)[:2]
    if len(node.inputs) > 1 and node.inputs[1]:
        if condition is None or condition.dtype == np.object_:
            return None
        if not is_true(condition):
            return 0
    if limit is None or limit.dtype == np.object_ or limit.size != 1:
        return None
    steps = max(int(limit.reshape(-1)[0]), 0)
    return steps if steps == 0 or passes_on(node.regions["body"]) else None


def loop_form(node: Node, graph: Graph) -> LoopForm | str:
    """Return the static form of a Loop or Scan, or the reason why it has none."""
    return _of_loop(node, graph) if node.op == "onnx.Loop" else _of_scan(node, graph)


def _of_loop(node: Node, graph: Graph) -> LoopForm | str:
    body = node.regions["body"]
    trip, condition, *starts = (*node.inputs, "", "")[: max(len(node.inputs), 2)]
    states = _states(node, graph, body, starts, 2, 1)
    pieces = _pieces(node, graph, body, 1 + len(starts), len(starts))
    if isinstance(states, str) or isinstance(pieces, str):
        return states if isinstance(states, str) else str(pieces)
    constants = [graph.constants.get(i) for i in (trip, condition)]
    limit, start = (None if c is None else c.array() for c in constants)
    steps: Expr | str | None = trip or None
    if limit is not None and limit.size == 1:
        steps = max(int(limit.reshape(-1)[0]), 0)
    if start is not None and not is_true(start):
        steps = 0
    tests = not passes_on(body, graph.constants)
    if not tests and (steps is None or (isinstance(steps, int) and steps >= ENDLESS)):
        return "no condition or trip count ends the loop"
    form = LoopForm(
        steps,
        "" if start is not None else condition,
        tests,
        True,
        states,
        (),
        pieces,
    )
    if form.pieces and form.n_steps is None and ROOM not in node.attrs:
        return "the length of the scan outputs is known only when the loop ends"
    return form


def _of_scan(node: Node, graph: Graph) -> LoopForm | str:
    body, n = node.regions["body"], n_scanned(node)
    if is_batched(node):
        return "the Scan has a batch of sequences"
    starts, scanned = node.inputs[:-n], node.inputs[-n:]
    states = _states(node, graph, body, starts, 0, 0)
    pieces = _pieces(node, graph, body, len(starts), len(starts))
    if isinstance(states, str) or isinstance(pieces, str):
        return states if isinstance(states, str) else str(pieces)
    if any(entry(node, "scan_input_axes", k) for k in range(n)) or any(
        entry(node, "scan_output_axes", k) for k in range(len(pieces))
    ):
        return "the Scan has a scan axis other than the first"
    slices: list[Slices] = []
    for k, name in enumerate(scanned):
        t = graph.types[name]
        given = body.inputs[len(starts) + k].type
        if not (_is_plain(t) and _is_plain(given)):
            return f"a slice of {name} is {given}, {NOT_PLAIN}"
        assert isinstance(t, TensorType)
        assert isinstance(given, TensorType)
        if t.dims[1:] != given.dims:
            return f"a slice of {name} is {t} without its first axis, but the body expects {given}"
        slices.append(Slices(name, given, bool(entry(node, "scan_input_directions", k))))
    lengths = {graph.types[s].dims[0] for s in scanned}  # type: ignore[union-attr]
    if len(lengths) != 1:
        return "the scanned operands differ in length"
    return LoopForm(lengths.pop(), "", False, False, states, tuple(slices), pieces)


def _states(
    node: Node, graph: Graph, body: Graph, starts: Sequence[str], first: int, first_result: int
) -> tuple[State, ...] | str:
    found: list[State] = []
    for k, start in enumerate(starts):
        if not start:
            return "a state has no initial value"
        t = graph.types[start]
        given = body.inputs[first + k].type
        result = body.results[first_result + k].value
        made = body.types.get(result, graph.types.get(result))
        if not _is_plain(t):
            return f"{start} is {t}, {NOT_PLAIN}"
        if not t == given == made:
            return f"an iteration turns the state with initial value {start} from {t} into {made}"
        assert isinstance(t, TensorType)
        output = node.outputs[k] if k < len(node.outputs) else ""
        found.append(State(start, output, t))
    return tuple(found)


def _pieces(
    node: Node, graph: Graph, body: Graph, first: int, first_output: int
) -> tuple[Slices, ...] | str:
    found: list[Slices] = []
    for k, r in enumerate(body.results[first:]):
        output = node.outputs[first_output + k] if first_output + k < len(node.outputs) else ""
        t = body.types.get(r.value, graph.types.get(r.value))
        if not _is_plain(t):
            return f"an iteration returns {t} for {output or r.name}, {NOT_PLAIN}"
        assert isinstance(t, TensorType)
        found.append(Slices(output, t, bool(entry(node, "scan_output_directions", k))))
    return tuple(found)


def _is_plain(t: Type | None) -> bool:
    return (
        isinstance(t, TensorType)
        and t.is_ranked
        and t.layout.is_plain
        and t.dtype is not DType.string
    )


def unfit(node: Node, graph: Graph) -> str:
    """Return the reason why types prevent a single launch of a node with regions, or ""."""
    if node.op == "onnx.If":
        return _unfit_branches(node, graph)
    if node.op in ("onnx.Loop", "onnx.Scan"):
        form = loop_form(node, graph)
        return form if isinstance(form, str) else ""
    return f"{node.op} has sequence operands"


def _unfit_branches(node: Node, graph: Graph) -> str:
    for region in node.regions.values():
        for r, output, t in zip(region.results, node.outputs, node.types, strict=False):
            made = region.types.get(r.value, graph.types.get(r.value))
            if not _is_plain(made):
                return f"{output or 'a result'} is {made} in a branch, {NOT_PLAIN}"
            if output and made != t:
                return f"{output} is {t}, but {made} in one branch"
    return ""
