"""Nodes with regions as one launch: memory of the regions, and functions that run the regions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from compiler.codegen.llvm import FunctionText
from compiler.codegen.module import Arg, Launch
from compiler.codegen.regions import (
    COPY,
    CallText,
    Carried,
    Copied,
    Counter,
    LoopText,
    Moving,
    Number,
    Param,
    Pointer,
    Scratch,
    Source,
    StateOf,
    body_text,
    branch_function,
    call_function,
    loop_function,
)
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.graph import Graph
from compiler.ir.types import TensorType
from compiler.memory.buffer import ALIGNMENT_BYTES
from compiler.ops.control_flow.loop_form import LoopForm, Slices, State, loop_form
from compiler.runtime.thunks.canonical import symbol_name
from compiler.runtime.thunks.constants import ConstantPool, PackedConstant
from compiler.runtime.thunks.select import Body, RegionThunk

if TYPE_CHECKING:
    from compiler.runtime.thunks.arrange import Arrangement

COUNTER = "%counter"
TRUE = "%true"
CONDITION = "%condition"


@dataclass(frozen=True)
class RegionPlan:
    """The memory layout of a launch with regions: values inside the bodies, and further memory.

    The arenas of all bodies start at offset 0 of the launch's memory, since one body runs at a
    time. The further memory is after the arenas; `offsets` has its offsets by name. Units: bytes.
    """

    thunk: RegionThunk
    bodies: Mapping[str, Arrangement]
    form: LoopForm | None
    offsets: Mapping[str, int]
    nbytes: int


def plan_region(
    thunk: RegionThunk, graph: Graph, arrange: Callable[[Body], Arrangement]
) -> RegionPlan:
    """Plan the memory of a launch: the arenas of a node's bodies, and further memory."""
    bodies = {key: arrange(body) for key, body in thunk.bodies.items()}
    form = None
    if thunk.node.op in ("onnx.Loop", "onnx.Scan"):
        found = loop_form(thunk.node, graph)
        assert isinstance(found, LoopForm), found
        form = found
    offsets: dict[str, int] = {}
    end = _aligned(max(a.plan.peak_bytes for a in bodies.values()))
    for name, nbytes in _needs(thunk, form):
        offsets[name] = end
        end = _aligned(end + nbytes)
    return RegionPlan(thunk, bodies, form, offsets, end)


def _aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def _needs(thunk: RegionThunk, form: LoopForm | None) -> Iterator[tuple[str, int]]:
    """Yield names and sizes of a launch's further memory, excluding the arenas of its bodies."""
    for k, (output, t) in enumerate(zip(thunk.node.outputs, thunk.node.types, strict=True)):
        if not output and isinstance(t, TensorType):
            yield _unread(k), t.nbytes
    if form is None:
        for body in thunk.bodies.values():
            for k in range(len(thunk.node.outputs), len(body.graph.results)):
                yield _unread(k), _nbytes(body.graph, k)
        return
    body = thunk.bodies["body"].graph
    for k in range(len(thunk.node.outputs), len(form.states) + len(form.pieces)):
        yield _unread(k), _nbytes(body, k + form.counts)
    if form.counts:
        yield COUNTER, 8
        yield TRUE, 1
        yield CONDITION, 1
        yield f"{CONDITION}2", 1
    for k, state in enumerate(form.states):
        yield _spare(k), state.type.nbytes


def _nbytes(body: Graph, result: int) -> int:
    t = body.types[body.results[result].value]
    assert isinstance(t, TensorType), f"a body's result has the type {t}"
    return t.nbytes


def _unread(k: int) -> str:
    return f"%unread{k}"


def _spare(k: int) -> str:
    return f"%spare{k}"


class Numbers(Protocol):
    """The calls, places of values, and numbers that one region's functions contain.

    In code for open sizes, arena offsets and numbers are slots of a run's table.
    """

    @property
    def is_open(self) -> bool:
        """Return whether the functions receive the table of a run."""
        ...

    def launches(self, key: str) -> list[Launch]:
        """Return the calls inside a body, in order."""
        ...

    def place(self, key: str, value: str) -> Arg:
        """Return the place of a body's value that is not a constant."""
        ...

    def memory(self, name: str) -> Number:
        """Return the offset of memory after the bodies' arenas. Units: bytes."""
        ...

    def number(self, e: Expr) -> Number:
        """Return a number of bytes or steps."""
        ...


@dataclass
class RegionWriter:
    """Generates the functions of regions and collects them in `texts`, inner functions first."""

    taken: set[str]
    pool: ConstantPool
    texts: list[FunctionText]

    def write(self, plan: RegionPlan, graph: Graph, numbers: Numbers) -> str:
        """Generate the functions of one node with regions; return the entry function's name."""
        thunk = plan.thunk
        label = thunk.node.op.rpartition(".")[2].lower()
        symbol = symbol_name(label, self.taken)
        self.taken.add(symbol)
        one = _Function(plan, graph, thunk.operands, numbers)
        names = {key: self._body(plan, key, one.stays, numbers) for key in thunk.bodies}
        is_open = numbers.is_open
        n = len(thunk.operands) + sum(map(bool, thunk.node.outputs))
        if plan.form is not None:
            text = loop_function(symbol, n, one.loop(names["body"]), is_open=is_open)
        elif thunk.node.op == "onnx.If":
            condition = one.operand(thunk.node.inputs[0])
            then = one.call("then_branch", names["then_branch"])
            otherwise = one.call("else_branch", names["else_branch"])
            assert isinstance(condition, Param)
            text = branch_function(symbol, n, condition, then, otherwise, is_open=is_open)
        else:
            (key,) = thunk.bodies
            text = call_function(symbol, n, one.call(key, names[key]), is_open=is_open)
        self.texts.append(FunctionText(text, (COPY,)))
        return symbol

    def _body(self, plan: RegionPlan, key: str, stays: set[int], numbers: Numbers) -> str:
        """Generate the function of one body, without computing the results at positions `stays`."""
        body, arrangement = plan.thunk.bodies[key], plan.bodies[key]
        label = plan.thunk.node.op.rpartition(".")[2].lower()
        symbol = symbol_name(f"{label}_{key}", self.taken)
        self.taken.add(symbol)
        copies = [
            Copied(position, self._place(body, key, result.value, numbers), made)
            for position, result in arrangement.copied
            if position not in stays
            and isinstance(t := body.graph.types[result.value], TensorType)
            and (made := numbers.number(_bytes(t)))
        ]
        text = body_text(symbol, numbers.launches(key), copies, is_open=numbers.is_open)
        self.texts.append(FunctionText(text, (COPY,)))
        return symbol

    def _place(self, body: Body, key: str, value: str, numbers: Numbers) -> Arg:
        constant = body.graph.constants.get(value)
        if constant is not None:
            wanted = PackedConstant(constant, None, constant.type.nbytes)
            return Arg("constants", self.pool.offset_of(wanted))
        return numbers.place(key, value)


def _bytes(t: TensorType) -> Expr:
    return t.dtype.nbytes * affine.product(t.layout.physical_shape(t.dims))


class _Function:
    """The places of operands and results in the calls of one node's bodies."""

    def __init__(
        self, plan: RegionPlan, graph: Graph, operands: Sequence[str], numbers: Numbers
    ) -> None:
        self.plan = plan
        self.numbers = numbers
        self.graph = graph
        self.node = plan.thunk.node
        self.params = {name: Param(i) for i, name in enumerate(operands)}
        written = [o for o in self.node.outputs if o]
        self.outputs = {o: Param(len(operands) + i) for i, o in enumerate(written)}
        self.stays = self._staying()
        """Positions of the body's results that a loop need not compute."""

    def operand(self, name: str) -> Pointer:
        return self.params[name]

    def output(self, k: int) -> Pointer:
        name = self.node.outputs[k] if k < len(self.node.outputs) else ""
        return self.outputs[name] if name else self._scratch(_unread(k))

    def call(self, key: str, symbol: str) -> CallText:
        body = self.plan.thunk.bodies[key]
        own = len(body.graph.inputs) - len(body.captured)
        assert not own, f"{self.node.op}: a body that is called once has {own} uncaptured inputs"
        sources = [self.operand(i) for i in body.captured]
        results = body.graph.results
        if self.node.regions:
            outputs = [self.output(k) for k in range(len(results))]
        else:  # a composition's results have the node's output names
            outputs = [self.outputs[r.name] for r in results]
        return CallText(symbol, tuple(sources), tuple(outputs))

    def _staying(self) -> set[int]:
        """Return positions of results that need no code: unchanged states, and true conditions."""
        form = self.plan.form
        if form is None:
            return set()
        body = self.plan.thunk.bodies["body"].graph
        first = 2 if form.counts else 0
        found = {
            k + form.counts
            for k in range(len(form.states))
            if body.results[k + form.counts].value == body.inputs[first + k].name
        }
        return found | ({0} if form.counts and not form.tests else set())

    def loop(self, symbol: str) -> LoopText:
        form = self.plan.form
        assert form is not None
        body = self.plan.thunk.bodies["body"]
        states = [self._state(k, s, form) for k, s in enumerate(form.states)]
        inputs: list[Source] = [StateOf(k) for k in range(len(states))]
        outputs: list[Source] = [StateOf(k) for k in range(len(states))]
        going = None
        if form.counts:
            condition = self._condition(form)
            going = len(states) if form.tests or form.condition else None
            states.append(condition)
            inputs = [Counter(self.numbers.memory(COUNTER)), StateOf(len(states) - 1), *inputs]
            outputs = [StateOf(len(states) - 1), *outputs]
        inputs += [self._moving(self.operand(s.value), s) for s in form.slices]
        inputs += [self.operand(c) for c in body.captured]
        outputs += [
            self._moving(self.output(len(form.states) + k), p) for k, p in enumerate(form.pieces)
        ]
        steps: Param | Number | None = None
        if isinstance(form.trip, str):
            steps = self.params[form.trip]
        elif form.trip is not None:
            steps = self.numbers.number(form.trip)
        truth = self._true() if form.counts and not form.condition else None
        return LoopText(symbol, steps, going, tuple(states), tuple(inputs), tuple(outputs), truth)

    def _state(self, k: int, state: State, form: LoopForm) -> Carried:
        return Carried(
            self.operand(state.start),
            self.output(k),
            self._scratch(_spare(k)),
            self.numbers.number(_bytes(state.type)),
            k + form.counts in self.stays,
        )

    def _condition(self, form: LoopForm) -> Carried:
        """Return the condition as a state, which keeps its initial value if no test changes it."""
        a, b = (self._scratch(n) for n in (CONDITION, f"{CONDITION}2"))
        start = self.operand(form.condition) if form.condition else self._true()
        return Carried(start, a, b, 0, not form.tests)

    def _true(self) -> Scratch:
        return self._scratch(TRUE)

    def _scratch(self, name: str) -> Scratch:
        return Scratch(self.numbers.memory(name))

    def _moving(self, base: Pointer, slices: Slices) -> Moving:
        return Moving(base, self.numbers.number(_bytes(slices.type)), slices.is_reversed)
