"""Execution of loops whose body computes the condition: generated code runs them in rounds.

A round is one launch with a limited number of iterations ("steps"). Each step writes its slices
into preallocated memory and increments a count. The returned count and condition tell the runtime
whether the loop has ended or another round follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.constant import Array, Constant
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.infer import Facts, typed_regions
from compiler.ir.operator import OPERATORS
from compiler.ir.types import DType, TensorType
from compiler.ops.control_flow.control import always_goes_on
from compiler.ops.control_flow.control_types import results_of
from compiler.ops.control_flow.loop_form import ROOM, loop_form
from compiler.runtime.build import build_program
from compiler.runtime.executable import Executable
from compiler.targets.options import CodeOptions

ROUND_BYTES = 1 << 20
"""Maximum bytes of the slices of a round, unless the minimum number of steps needs more."""

FEWEST, MOST = 16, 1024
"""Minimum and maximum number of steps of a round."""

MAX_PROGRAMS = 8
"""Maximum number of cached programs, one per set of operand types."""

NUMBER, FLAG = TensorType(DType.i64, ()), TensorType(DType.bool, ())


def runs_in_rounds(node: Node) -> bool:
    """Return whether a node is a loop with scan outputs and a condition computed in its body."""
    n_states = len(node.inputs) - 2
    if node.op != "onnx.Loop" or not any(node.outputs[n_states:]):
        return False
    return all(node.inputs[2:]) and not always_goes_on(node.regions["body"])


@dataclass(frozen=True, slots=True)
class _Round:
    """The code of one round, its number of steps, and the types of its slices."""

    executable: Executable
    n_steps: int
    pieces: tuple[TensorType, ...]


class Rounds:
    """Runs one loop. Code is compiled for the operands' actual types."""

    def __init__(self, node: Node, constants: Mapping[str, Constant], options: CodeOptions) -> None:
        self.node, self.constants = node, constants
        self.options = replace(options, schedules=(), memory_limit_bytes=None)
        self._made: dict[tuple[object, ...], _Round | str] = {}

    def run(self, values: Mapping[str, Any]) -> list[Any] | None:
        """Return the node's results; None if there is no code for the body (see `because`)."""
        arrays = {n: np.asarray(values[n]) for n in dict.fromkeys(self.node.reads)}
        key = tuple((a.dtype, a.shape) for a in arrays.values())
        made = self._made.get(key)
        if made is None:
            while len(self._made) >= MAX_PROGRAMS:
                self._made.pop(next(iter(self._made)))
            made = self._made[key] = self._round(arrays)
        return None if isinstance(made, str) else self._run(made, arrays)

    @property
    def because(self) -> str:
        """Return the reason for the last rejection of operand types; "" without a rejection."""
        return next((m for m in reversed(self._made.values()) if isinstance(m, str)), "")

    def _run(self, one: _Round, arrays: Mapping[str, Array]) -> list[Any]:
        node = self.node
        trip, start, *states = node.inputs
        limit = int(arrays[trip].reshape(-1)[0]) if trip else None
        going = bool(arrays[start].reshape(-1)[0]) if start else True
        now: list[Any] = [arrays[s] for s in states]
        piles: list[list[Any]] = [[] for _ in one.pieces]
        base = 0
        inputs = one.executable.graph.inputs
        given = {v.name: arrays[v.name] for v in inputs if v.name in arrays}
        while going and (limit is None or base < limit):
            n = one.n_steps if limit is None else min(one.n_steps, limit - base)
            given[_TRIP], given[_BASE] = np.array(n, np.int64), np.array(base, np.int64)
            given[_GOING] = np.array(going)
            given.update((_state(k), s) for k, s in enumerate(now))
            made = list(one.executable.run(given).values())
            now, (count, flag), pieces = (
                made[: len(now)],
                made[len(now) :][:2],
                made[len(now) + 2 :],
            )
            for pile, piece in zip(piles, pieces, strict=True):
                pile.append(piece[: int(count)])
            base, going = base + int(count), bool(flag)
        return [*now, *map(_joined, piles, one.pieces)]

    def _round(self, arrays: Mapping[str, Array]) -> _Round | str:
        types = {n: TensorType(DType.from_numpy(a.dtype), a.shape) for n, a in arrays.items()}
        small = {n: c.array() for n, c in self.constants.items() if c.type.n_elements <= 64}
        node = typed_regions(self.node, Facts({**types}, small, True))
        made = results_of(node.regions["body"], types)
        pieces = made[1 + len(node.inputs) - 2 :]
        tensors = tuple(t for t in pieces if isinstance(t, TensorType) and t.is_static)
        if len(tensors) != len(pieces) or made[0] != FLAG:
            return "a step's result has no known size"
        nbytes = sum(t.nbytes for t in tensors)
        n_steps = max(FEWEST, min(MOST, ROUND_BYTES // max(nbytes, 1)))
        graph = _graph(node, types, self.constants, tensors, n_steps)
        objection = loop_form(graph.nodes[0], graph)
        if isinstance(objection, str):
            return objection
        built = build_program(graph, self.options, lambda _: nullcontext())
        if built.executable is None or any(k.because for k in built.kernels):
            return next((k.because for k in built.kernels if k.because), "no code was generated")
        return _Round(built.executable, n_steps, tensors)


_TRIP, _BASE, _GOING, _STEP, _COUNT = "%trip", "%base", "%going", "%step", "%count"


def _state(k: int) -> str:
    return f"%state{k}"


def _joined(pile: Sequence[Array], t: TensorType) -> Array:
    if len(pile) == 1:
        return pile[0]
    return np.concatenate(pile) if pile else np.zeros((0, *t.static_shape), t.dtype.numpy)


def _graph(
    node: Node,
    types: Mapping[str, TensorType],
    around: Mapping[str, Constant],
    pieces: Sequence[TensorType],
    n_steps: int,
) -> Graph:
    """Return a round as one loop whose results are states, count, condition and slices."""
    body, starts = node.regions["body"], node.inputs[2:]
    counter, going, *states = body.inputs
    one, none = "%one", "%none"
    add = OPERATORS["add"].bind({})
    nodes = (
        Node("add", (_STEP, _BASE), (counter.name,), (NUMBER,), add, counter.name),
        Node("add", (_STEP, one), (_COUNT,), (NUMBER,), add, _COUNT),
        *body.nodes,
    )
    first, *others = body.results
    n = len(states)
    again = Result("%again", first.value)
    region = replace(
        body,
        inputs=(Value(_STEP, NUMBER), going, *states, Value("%before", NUMBER),
                Value("%was", FLAG)),
        nodes=nodes,
        results=(first, *others[:n], Result("%n", _COUNT), again, *others[n:]),
        constants={**body.constants, one: Constant.of(np.array(1, np.int64))},
    )  # fmt: skip
    ends = [types[s] for s in starts]
    given = [_state(k) for k in range(n)]
    outputs = [f"%out{k}" for k in range(n + 2 + len(pieces))]
    rows = [TensorType(t.dtype, (n_steps, *t.dims)) for t in pieces]
    loop = Node(
        "onnx.Loop",
        (_TRIP, _GOING, *given, none, _GOING),
        tuple(outputs),
        (*ends, NUMBER, FLAG, *rows),
        {**node.attrs, ROOM: n_steps},
        node.name,
        node.origins,
        {"body": region},
    )
    captured = [c for c in region.free_names if c in types and c not in around]
    values = {_TRIP: NUMBER, _BASE: NUMBER, _GOING: FLAG, **dict(zip(given, ends, strict=True))}
    values.update((c, types[c]) for c in captured)
    inputs = tuple(Value(name, t) for name, t in values.items())
    constants = {c: around[c] for c in region.free_names if c in around}
    constants[none] = Constant.of(np.array(0, np.int64))
    results = tuple(Result(o, o) for o in outputs)
    return Graph("round", inputs, results, (loop,), constants)
