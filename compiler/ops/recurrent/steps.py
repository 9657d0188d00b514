"""The decomposition of recurrent operators into one matrix product for all inputs, and a Scan.

Expressions that depend only on inputs are computed for all steps at once. Each step computes only
the product of the state and the recurrent weights, and then the gates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Result, Value
from compiler.ir.infer import Facts
from compiler.ir.operator import Call, Operand, Out, Regioned, Tensor, as_tensor
from compiler.ir.regions import without_origins
from compiler.ir.types import DType, TensorType
from compiler.ops.data_movement.concat import concat, split
from compiler.ops.data_movement.reshape import reshape, squeeze, unsqueeze
from compiler.ops.data_movement.shape import fill, range_, shape
from compiler.ops.data_movement.slice import slice_
from compiler.ops.data_movement.transpose import transpose
from compiler.ops.elementwise.arithmetic import add, mul, sub
from compiler.ops.elementwise.cast import cast
from compiler.ops.elementwise.compare import clip, less, where
from compiler.ops.linear_algebra.matmul import matmul
from compiler.ops.quantization.dynamic_quantize import through_bytes
from compiler.ops.recurrent.activations import Activation

SCAN_OPSET = 16


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """The operands and attributes of a recurrent operator; some list one entry per direction."""

    x: Tensor
    w: Tensor
    r: Tensor
    b: Tensor | None
    lengths: Tensor | None
    starts: tuple[Tensor | None, ...]
    p: Tensor | None
    functions: Sequence[Sequence[Activation]]
    reverses: Sequence[bool]
    clip: float
    layout: int
    n_gates: int

    @property
    def hidden(self) -> int:
        """The number of elements of the state."""
        return _number(self.r.shape[2], "the hidden size")

    @property
    def dtype(self) -> type:
        """The numpy element type of all operands."""
        return self.x.dtype.numpy.type


Step = Callable[["Cell", Sequence[Operand], Operand], Sequence[Operand]]
"""A function that returns the new states, given a cell, the states and a step's inputs. The first
new state is the output of the step."""


def _number(d: Any, what: str) -> int:
    if not isinstance(d, int):
        raise CompileError("E-SHAPE-OPEN", f"{what} is known only when the program runs")
    return d


def shared(operand: Operand) -> Operand:
    """Share one node for a call among all readers of the call's result."""
    return operand.out(0) if isinstance(operand, Call) else operand


def part(x: Operand, axis: int, start: int, end: int) -> Call:
    """Slice an axis from start to end."""
    return slice_(x, *(np.array([n], np.int64) for n in (start, end, axis)))


def of_direction(x: Operand, d: int, n_directions: int) -> Call:
    """Select the slice of one direction, which is an index of the first axis."""
    chosen = part(x, 0, d, d + 1) if n_directions > 1 else x
    return squeeze(chosen, axes=(0,))


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """The parameters of one direction in a step, and the clipping and activations of its gates."""

    setting: Setting
    direction: int

    @property
    def functions(self) -> Sequence[Activation]:
        """The activations f, g and h of this direction."""
        return self.setting.functions[self.direction]

    def recurrent(self) -> Operand:
        """Return the recurrent weights, concatenated by gate."""
        return shared(self._own(self.setting.r))

    def product(self, h: Operand) -> Call:
        """Multiply the state by the recurrent weights of all gates."""
        return matmul(h, self.recurrent(), transpose_b=True)

    def halves(self, n: int) -> list[Out]:
        """Split the recurrent weights after the first `n` gates.

        One split yields both groups of gates, so that constants are split without a copy.
        """
        sizes = (n * self.setting.hidden, (self.setting.n_gates - n) * self.setting.hidden)
        made = split(self.recurrent(), axis=0, sizes=sizes)
        return [made.out(0), made.out(1)]

    def recurrent_bias(self, gate: int) -> Operand:
        """Return the bias of one gate for the state's product, or None."""
        s = self.setting
        if s.b is None:
            return None
        first = (s.n_gates + gate) * s.hidden
        return part(self._own(s.b), 0, first, first + s.hidden)

    def peephole(self, number: int) -> Operand:
        """Return the peephole weights of one gate, or None."""
        s = self.setting
        if s.p is None:
            return None
        return part(self._own(s.p), 0, number * s.hidden, (number + 1) * s.hidden)

    def gates(self, x: Operand, n: int) -> list[Out]:
        """Split the last axis of x into `n` gates."""
        made = split(x, axis=-1, sizes=(self.setting.hidden,) * n)
        return [made.out(k) for k in range(n)]

    def activated(self, f: int, x: Operand) -> Operand:
        """Clip a value, and apply an activation."""
        s = self.setting
        if s.clip > 0:
            x = clip(x, np.array(-s.clip, s.dtype), np.array(s.clip, s.dtype))
        return shared(self.functions[f].call(x, s.dtype))

    def _own(self, x: Tensor) -> Call:
        return of_direction(x, self.direction, len(self.setting.reverses))


def decomposed(
    s: Setting, step: Step, bias: Callable[[Setting, Operand], Operand]
) -> tuple[Operand, ...]:
    """Return the outputs of all steps, followed by the last states, as calls of other operators.

    `bias` combines the biases of a direction into the bias of the inputs' product.
    """
    x = s.x if s.layout == 0 else shared(transpose(s.x, perm=(1, 0, 2)))
    scans = [_direction(s, Cell(s, d), x, step, bias) for d in range(len(s.reverses))]
    n_states = len(s.starts)
    steps = [unsqueeze(scan.out(n_states), axes=(1,)) for scan in scans]
    y = concat(*steps, axis=1) if len(steps) > 1 else steps[0]
    last: list[Operand] = []
    for k in range(n_states):
        ends = [unsqueeze(scan.out(k), axes=(0,)) for scan in scans]
        end = concat(*ends, axis=0) if len(ends) > 1 else ends[0]
        last.append(end if s.layout == 0 else transpose(end, perm=(1, 0, 2)))
    return (y if s.layout == 0 else transpose(y, perm=(2, 0, 1, 3)), *last)


def _direction(
    s: Setting, cell: Cell, x: Operand, step: Step, bias: Callable[[Setting, Operand], Operand]
) -> Regioned:
    """Build the Scan over the steps of one direction."""
    d, n = cell.direction, len(s.reverses)
    product = rows_product(x, of_direction(s.w, d, n), transpose_b=True)
    if s.b is not None:
        product = add(product, bias(s, shared(of_direction(s.b, d, n))))
    dtype, (n_steps, batch, _) = s.x.dtype, _as_tensor(x).dims
    state = TensorType(dtype, (batch, s.hidden))
    scanned: list[Operand] = [product]
    if s.lengths is not None:
        scanned.append(_numbered_steps(x, s.lengths.dtype))
    body = _body(s, cell, step, state, TensorType(dtype, (batch, s.n_gates * s.hidden)))
    attrs = {
        "num_scan_inputs": len(scanned),
        "scan_input_directions": (int(s.reverses[d]),) * len(scanned),
        "scan_output_directions": (int(s.reverses[d]),),
        "opset": SCAN_OPSET,
    }
    every = TensorType(dtype, (n_steps, *state.dims))
    starts = [_start(s, k, d, x, state) for k in range(len(s.starts))]
    results = (*(state for _ in starts), every)
    return Regioned("onnx.Scan", (*starts, *scanned), attrs, {"body": body}, results)


def _as_tensor(operand: Operand) -> TensorType:
    found = as_tensor(operand)
    assert found is not None
    return found.type


def rows_product(x: Operand, w: Operand, transpose_b: bool) -> Call:
    """Multiply the inputs of all steps by the weights, in one product if sizes are known.

    Shapes: x [T, ..., I], w [I, O], or [O, I] with `transpose_b`.
    """
    t = _as_tensor(x)
    n_outputs, n_inputs = _as_tensor(w).dims[:: 1 if transpose_b else -1]
    if not (isinstance(n_inputs, int) and isinstance(n_outputs, int)):
        return matmul(x, w, transpose_b=transpose_b)
    if t.is_static:
        outer = t.static_shape[:-1]
        rows = reshape(x, np.array([math.prod(outer), n_inputs], np.int64), allowzero=True)
        product = matmul(rows, w, transpose_b=transpose_b)
        return reshape(product, np.array([*outer, n_outputs], np.int64), allowzero=True)
    rows = reshape(x, np.array([-1, n_inputs], np.int64))
    outer = shape(x, start=0, end=t.rank - 1)
    sizes = concat(outer, np.array([n_outputs], np.int64), axis=0)
    return reshape(matmul(rows, w, transpose_b=transpose_b), sizes, allowzero=True)


def _numbered_steps(x: Operand, dtype: DType) -> Operand:
    """Return the numbers of the steps, in this element type."""
    n_steps = _as_tensor(x).dims[0]
    if isinstance(n_steps, int):
        return np.arange(n_steps).astype(dtype.numpy)
    end = squeeze(shape(x, start=0, end=1), axes=(0,))
    return cast(range_(np.array(0, np.int64), end, np.array(1, np.int64)), to=dtype)


def _start(s: Setting, k: int, d: int, x: Operand, state: TensorType) -> Operand:
    """Return the initial state; for an empty sequence it is zero, as in ONNX Runtime."""
    given = s.starts[k]
    if given is None and state.is_static:
        return np.zeros(state.static_shape, s.dtype)
    if given is None:
        return fill(_state_sizes(x, state), dtype=state.dtype)
    first: Operand = given if s.layout == 0 else transpose(given, perm=(1, 0, 2))
    first = of_direction(first, d, len(s.reverses))
    if first.type.dims != state.dims:
        first = reshape(first, _state_sizes(x, state), allowzero=True)
    if s.lengths is None:
        return first
    counted = _of_batch(s.lengths, shape(x, start=1, end=2), state)
    has_steps = unsqueeze(less(np.array(0, s.lengths.dtype.numpy), counted), axes=(1,))
    return where(has_steps, first, np.array(0, s.dtype))


def _state_sizes(x: Operand, state: TensorType) -> Operand:
    """Return the shape of a state as an operand; an open batch size is that of x."""
    if state.is_static:
        return np.array(state.static_shape, np.int64)
    hidden = np.array(state.dims[1:], np.int64)
    return concat(shape(x, start=1, end=2), hidden, axis=0)


def _of_batch(lengths: Tensor, batch: Operand, state: TensorType) -> Operand:
    """Reshape the lengths to the size of the batch; the size of either may be open."""
    size = state.dims[0]
    if lengths.shape[0] == size:
        return lengths
    sizes = np.array([size], np.int64) if isinstance(size, int) else batch
    return reshape(lengths, sizes, allowzero=True)


def _body(s: Setting, cell: Cell, step: Step, state: TensorType, inputs: TensorType) -> Graph:
    """Build the body, which maps states and a step's slice of the product to states and output."""
    names = [f"state{k}" for k in range(len(s.starts))]
    values = [*(Value(n, state) for n in names), Value("inputs", inputs)]
    if s.lengths is not None:
        values.append(Value("step", TensorType(s.lengths.dtype, ())))
    around = [t for t in (s.r, s.b, s.p, s.lengths) if t is not None]
    outer = Facts({t.name: t.type for t in around}, {})
    editor = Editor(Graph("step", tuple(values), (), ()), outer)
    before = [editor.tensor(n) for n in names]
    after = list(step(cell, before, editor.tensor("inputs")))
    output: Operand = after[0]
    if s.lengths is not None:
        counted = _of_batch(s.lengths, shape(before[0], start=0, end=1), state)
        running = shared(unsqueeze(less(editor.tensor("step"), counted), axes=(1,)))
        output = where(running, after[0], np.array(0, s.dtype))
        after = [where(running, new, old) for new, old in zip(after, before, strict=True)]
    made = [editor.build(v, hint=f"next{k}") for k, v in enumerate(after)]
    editor.results = [Result(f"next{k}", v) for k, v in enumerate(made)]
    editor.results.append(Result("output", editor.build(output, hint="output")))
    return without_origins(editor.graph())


def all_biases(s: Setting, b: Operand) -> Call:
    """Sum the biases of the input's product and of the state's product."""
    n = s.n_gates * s.hidden
    return add(part(b, 0, 0, n), part(b, 0, n, 2 * n))


def rnn_step(cell: Cell, states: Sequence[Operand], x: Operand) -> list[Operand]:
    """Compute H = f(X + H R)."""
    return [cell.activated(0, add(cell.product(states[0]), x))]


def lstm_step(input_forget: bool, rounded_states: bool) -> Step:
    """Return the step with gates i, o, f, c from X + H R; C = f C + i c, H = o h(C)."""

    def step(cell: Cell, states: Sequence[Operand], x: Operand) -> list[Operand]:
        h, c = states
        if rounded_states:
            h = through_bytes(h)
        i, o, f, g = cell.gates(add(cell.product(h), x), 4)
        taken = cell.activated(0, _peeped(i, cell.peephole(0), c))
        if input_forget:
            kept: Operand = sub(np.array(1, cell.setting.dtype), taken)
        else:
            kept = cell.activated(0, _peeped(f, cell.peephole(2), c))
        new = shared(add(mul(kept, c), mul(taken, cell.activated(1, g))))
        out = cell.activated(0, _peeped(o, cell.peephole(1), new))
        shown = cell.functions[2].call(new, cell.setting.dtype)
        return [shared(mul(out, shown)), new]

    return step


def _peeped(gate: Operand, p: Operand, c: Operand) -> Operand:
    return gate if p is None else add(gate, mul(p, c))


def gru_step(linear_before_reset: bool) -> Step:
    """Return the step function: gates z, r from X + H R, candidate n from X and the reset state."""

    def step(cell: Cell, states: Sequence[Operand], x: Operand) -> list[Operand]:
        (h,) = states
        n = cell.setting.hidden
        first = part(x, -1, 0, 2 * n)
        if linear_before_reset:
            whole = shared(cell.product(h))
            z, r = cell.gates(add(part(whole, -1, 0, 2 * n), first), 2)
            reset = cell.activated(0, r)
            linear = part(whole, -1, 2 * n, 3 * n)
            bias = cell.recurrent_bias(2)
            through = mul(reset, linear if bias is None else add(linear, bias))
        else:
            gates, last = cell.halves(2)
            z, r = cell.gates(add(matmul(h, gates, transpose_b=True), first), 2)
            reset = cell.activated(0, r)
            through = matmul(mul(reset, h), last, transpose_b=True)
        new = cell.activated(1, add(through, part(x, -1, 2 * n, 3 * n)))
        mix = cell.activated(0, z)
        one = np.array(1, cell.setting.dtype)
        return [shared(add(mul(sub(one, mix), new), mul(mix, h)))]

    return step


def gru_biases(linear_before_reset: bool) -> Callable[[Setting, Operand], Operand]:
    """Sum both biases; omit the candidate's recurrent bias if the reset gate multiplies it."""

    def biases(s: Setting, b: Operand) -> Operand:
        if not linear_before_reset:
            return all_biases(s, b)
        n = s.hidden
        gates = add(part(b, 0, 0, 2 * n), part(b, 0, 3 * n, 5 * n))
        return concat(gates, part(b, 0, 2 * n, 3 * n), axis=0)

    return biases
