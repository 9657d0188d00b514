"""Recurrent layers over sequences, in one direction or both: rnn, gru, lstm.

Each layer decomposes into a matrix product and a Scan: see recurrent/steps.py. The matrix product
reads the inputs of all steps. The Scan computes the gates and the product with the state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.errors import require
from compiler.ir.operator import Array, Call, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import Dim, TensorType
from compiler.ops.recurrent.activations import activations_of
from compiler.ops.recurrent.reference import Cells, gru_cell, lstm_cell, rnn_cell, run
from compiler.ops.recurrent.steps import (
    Setting,
    all_biases,
    decomposed,
    gru_biases,
    gru_step,
    lstm_step,
    rnn_step,
)
from compiler.ops.type_rules.requirements import require_elements, require_rank, require_size

DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
"""For each direction, whether it runs in reverse."""

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
DEFAULTS = {
    "rnn": ("Tanh",),
    "gru": ("Sigmoid", "Tanh"),
    "lstm": ("Sigmoid", "Tanh", "Tanh"),
}
"""The default activations of a layer in one direction."""

Names = tuple[str, ...]
Numbers = tuple[float, ...]


def _reverses(direction: str) -> tuple[bool, ...]:
    known = direction in DIRECTIONS
    message = f"direction must be one of {', '.join(DIRECTIONS)}, got {direction[:40]!r}"
    require(known, "E-OP-ATTRIBUTE", message)
    return DIRECTIONS[direction]


def _functions(
    name: str, reverses: Sequence[bool], given: Names, alphas: Numbers, betas: Numbers
) -> list[list[Any]]:
    """Return the list of activations for each direction. Errors: E-OP-ATTRIBUTE."""
    n = len(DEFAULTS[name])
    names = given or DEFAULTS[name] * len(reverses)
    needed = n * len(reverses)
    require(
        len(names) == needed,
        "E-OP-ATTRIBUTE",
        f"{name} in {len(reverses)} directions needs {needed} activations, got {len(names)}",
    )
    found = activations_of(names, alphas, betas)
    return [found[d * n : (d + 1) * n] for d in range(len(reverses))]


def _types(
    name: str,
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None,
    lengths: Tensor | None,
    starts: Sequence[Tensor | None],
    p: Tensor | None,
    **attrs: Any,
) -> tuple[TensorType, ...]:
    """Infer the types of the results: the outputs of all steps, then the last states."""
    given = [t for t in starts if t is not None]
    dtype = require_elements(name, "float", x, w, r, *given, *filter(None, (b, p)))
    if lengths is not None:
        require_elements(name, "integer", lengths)
    for what, t, rank in (("x", x, 3), ("w", w, 3), ("r", r, 3), ("b", b, 2), ("p", p, 2)):
        if t is not None:
            require_rank(name, t, [rank], what)
    reverses = _reverses(attrs["direction"])
    _functions(name, reverses, attrs["activations"], attrs["alphas"], attrs["betas"])
    layout, gates, hidden = attrs["layout"], GATES[name], r.shape[2]
    require(layout in (0, 1), "E-OP-ATTRIBUTE", f"layout must be 0 or 1, got {layout}")
    n_steps, batch = (x.shape[1], x.shape[0]) if layout else (x.shape[0], x.shape[1])
    _sizes(name, w, "w", (len(reverses), gates * hidden, x.shape[2]))
    _sizes(name, r, "r", (len(reverses), gates * hidden, hidden))
    _sizes(name, b, "b", (len(reverses), 2 * gates * hidden))
    _sizes(name, p, "p", (len(reverses), 3 * hidden))
    _sizes(name, lengths, "sequence_lens", (batch,))
    end = (batch, len(reverses), hidden) if layout else (len(reverses), batch, hidden)
    for t in given:
        _sizes(name, t, "the state", end)
    every = (
        (batch, n_steps, len(reverses), hidden)
        if layout
        else (n_steps, len(reverses), batch, hidden)
    )
    last = TensorType(dtype, end)
    return (TensorType(dtype, every), *(last for _ in starts))


def _sizes(name: str, t: Tensor | None, what: str, needed: Sequence[Dim]) -> None:
    if t is None:
        return
    require_rank(name, t, [len(needed)], what)
    for i, (found, size) in enumerate(zip(t.shape, needed, strict=True)):
        require_size(name, f"axis {i} of {what}", found, size)


def _setting(
    name: str,
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None,
    lengths: Tensor | None,
    starts: tuple[Tensor | None, ...],
    p: Tensor | None,
    **attrs: Any,
) -> Setting:
    reverses = _reverses(attrs["direction"])
    functions = _functions(name, reverses, attrs["activations"], attrs["alphas"], attrs["betas"])
    return Setting(
        x, w, r, b, lengths, starts, p, functions, reverses, attrs["clip"], attrs["layout"],
        GATES[name],
    )  # fmt: skip


def _cells(name: str, **attrs: Any) -> Cells:
    reverses = _reverses(attrs["direction"])
    functions = _functions(name, reverses, attrs["activations"], attrs["alphas"], attrs["betas"])
    return Cells(GATES[name], functions, reverses, attrs["clip"], attrs["layout"])


def _cost(
    name: str, x: TensorType, operands: Sequence[TensorType | None], out: Any, direction: str
) -> Cost:
    results = out if isinstance(out, tuple) else (out,)
    r = operands[1]
    assert r is not None, f"{name} needs recurrent weights"
    gates, hidden = r.static_shape[1:]
    n_steps, batch, n_inputs = x.static_shape
    per_step = 2 * gates * (n_inputs + hidden) + 12 * hidden
    return Cost(
        n_steps * batch * per_step * len(_reverses(direction)),
        sum(t.nbytes for t in (x, *operands) if t is not None),
        sum(t.nbytes for t in results),
    )


@op(kind="scan", exact=False)
def rnn(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    sequence_lens: Tensor | None = None,
    initial_h: Tensor | None = None,
    *,
    activations: Names = (),
    alphas: Numbers = (),
    betas: Numbers = (),
    clip: float = 0.0,
    direction: str = "forward",
    layout: int = 0,
) -> tuple[TensorType, ...]:
    """A recurrent layer with state f(x w + h r + b); x is the input, h is the previous state.

    The results are the states of all steps and the last state. A clip of 0 means that no value is
    clipped. The default activation is tanh. `alphas` and `betas` list the parameters of the
    activations that have parameters, in order.
    Shapes: x [T, B, I], w [D, H, I], r [D, H, H], b [D, 2H], states [D, B, H]. The results have the
    shapes [T, D, B, H] and [D, B, H]. In layout 1, the batch is the first axis of x, states and
    results.
    Errors: E-OP-SHAPE, E-OP-DTYPE, E-OP-ATTRIBUTE for unknown activations, directions, layouts.
    Source: ONNX RNN-22.
    """
    attrs = _attrs(activations, alphas, betas, clip, direction, layout)
    return _types("rnn", x, w, r, b, sequence_lens, (initial_h,), None, **attrs)


def _attrs(
    activations: Names, alphas: Numbers, betas: Numbers, clip: float, direction: str, layout: int
) -> dict[str, Any]:
    return {
        "activations": activations,
        "alphas": alphas,
        "betas": betas,
        "clip": clip,
        "direction": direction,
        "layout": layout,
    }


@rnn.reference
def _(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    lengths: Array | None = None,
    h: Array | None = None,
    **attrs: Any,
) -> tuple[Array, ...]:
    return run(_cells("rnn", **attrs), rnn_cell, x, w, r, b, lengths, (h,), None)


@rnn.cost
def _(x: TensorType, *operands: TensorType | None, out: Any, direction: str, **_: Any) -> Cost:
    return _cost("rnn", x, operands, out, direction)


@rnn.decompose
def _(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    lengths: Tensor | None = None,
    h: Tensor | None = None,
    **attrs: Any,
) -> tuple[Operand, ...]:
    return decomposed(
        _setting("rnn", x, w, r, b, lengths, (h,), None, **attrs), rnn_step, all_biases
    )


@op(kind="scan", exact=False)
def gru(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    sequence_lens: Tensor | None = None,
    initial_h: Tensor | None = None,
    *,
    activations: Names = (),
    alphas: Numbers = (),
    betas: Numbers = (),
    clip: float = 0.0,
    direction: str = "forward",
    layout: int = 0,
    linear_before_reset: bool = False,
) -> tuple[TensorType, ...]:
    """A layer of gated recurrent units, with update gate z, reset gate r and candidate n.

    With activations f1 and f2, the update gate z and the reset gate `reset` are f1(x w + h r + b).
    The candidate n is f2(x w + (reset h) r + b). With `linear_before_reset`, the candidate is
    f2(x w + b + reset (h r + b)). The new state is (1 - z) n + z h.
    Shapes: as for rnn, but w [D, 3H, I], r [D, 3H, H], b [D, 6H] for the gates z, r, n.
    Errors: as rnn.
    Source: ONNX GRU-22; Cho et al. 2014, arXiv:1406.1078.
    """
    attrs = _attrs(activations, alphas, betas, clip, direction, layout)
    return _types("gru", x, w, r, b, sequence_lens, (initial_h,), None, **attrs)


@gru.reference
def _(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    lengths: Array | None = None,
    h: Array | None = None,
    *,
    linear_before_reset: bool,
    **attrs: Any,
) -> tuple[Array, ...]:
    cell = gru_cell(linear_before_reset)
    return run(_cells("gru", **attrs), cell, x, w, r, b, lengths, (h,), None)


@gru.cost
def _(x: TensorType, *operands: TensorType | None, out: Any, direction: str, **_: Any) -> Cost:
    return _cost("gru", x, operands, out, direction)


@gru.decompose
def _(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    lengths: Tensor | None = None,
    h: Tensor | None = None,
    *,
    linear_before_reset: bool,
    **attrs: Any,
) -> tuple[Operand, ...]:
    setting = _setting("gru", x, w, r, b, lengths, (h,), None, **attrs)
    return decomposed(setting, gru_step(linear_before_reset), gru_biases(linear_before_reset))


@op(kind="scan", exact=False)
def lstm(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    sequence_lens: Tensor | None = None,
    initial_h: Tensor | None = None,
    initial_c: Tensor | None = None,
    p: Tensor | None = None,
    *,
    activations: Names = (),
    alphas: Numbers = (),
    betas: Numbers = (),
    clip: float = 0.0,
    direction: str = "forward",
    layout: int = 0,
    input_forget: bool = False,
    rounded_states: bool = False,
) -> tuple[TensorType, ...]:
    """A layer of long short-term memory: a cell with forget, input and output gates.

    With activations f1, f2 and f3, the gates i, o and f are f1(x w + h r + b + p c). In this
    formula, c is the new cell for o, and the previous cell for i and f. The new cell is
    f c + i f2(x w + h r + b), and the new state h is o f3(new cell). With `input_forget`, the
    forget gate f is 1 - i. With `rounded_states`, h is quantized to 8 bits by one scale before
    multiplications. The results are the states of all steps, the last state and the last cell.
    Shapes: as for rnn, but w [D, 4H, I], r [D, 4H, H], b [D, 8H] for the gates i, o, f, c, and p
    [D, 3H] for i, o, f.
    Errors: as rnn.
    Source: ONNX LSTM-22; Hochreiter and Schmidhuber 1997.
    """
    attrs = _attrs(activations, alphas, betas, clip, direction, layout)
    return _types("lstm", x, w, r, b, sequence_lens, (initial_h, initial_c), p, **attrs)


@lstm.reference
def _(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    lengths: Array | None = None,
    h: Array | None = None,
    c: Array | None = None,
    p: Array | None = None,
    *,
    input_forget: bool,
    rounded_states: bool,
    **attrs: Any,
) -> tuple[Array, ...]:
    cell = lstm_cell(input_forget, rounded_states)
    return run(_cells("lstm", **attrs), cell, x, w, r, b, lengths, (h, c), p)


@lstm.cost
def _(x: TensorType, *operands: TensorType | None, out: Any, direction: str, **_: Any) -> Cost:
    return _cost("lstm", x, operands, out, direction)


@lstm.decompose
def _(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    lengths: Tensor | None = None,
    h: Tensor | None = None,
    c: Tensor | None = None,
    p: Tensor | None = None,
    *,
    input_forget: bool,
    rounded_states: bool,
    **attrs: Any,
) -> tuple[Operand, ...]:
    setting = _setting("lstm", x, w, r, b, lengths, (h, c), p, **attrs)
    return decomposed(setting, lstm_step(input_forget, rounded_states), all_biases)


def common_operands(n: OnnxCall, n_operands: int) -> tuple[list[Tensor | None], dict[str, Any]]:
    """Return the operands and attributes of an ONNX node that RNN, GRU and LSTM share."""
    names = n.attr("activations") or ()
    attrs = {
        "activations": tuple(x.decode() if isinstance(x, bytes) else x for x in names),
        "alphas": tuple(n.attr("activation_alpha") or ()),
        "betas": tuple(n.attr("activation_beta") or ()),
        "clip": float(n.attr("clip") or 0.0),
        "direction": n.attr("direction", "forward"),
        "layout": int(n.attr("layout", 0)),
    }
    operands = [n.operand(i) for i in range(n_operands)]
    while operands and operands[-1] is None:
        operands.pop()
    return operands, attrs


@rnn.onnx("RNN")
def _(n: OnnxCall) -> Call:
    operands, attrs = common_operands(n, 6)
    return rnn(*operands, **attrs)


@rnn.export
def _(*operands: Tensor | None, **attrs: Any) -> Operand:
    return exported_layer("RNN", 2, operands, **attrs)


def exported_layer(
    op_type: str,
    n_outputs: int,
    operands: Sequence[Tensor | None],
    *,
    activations: Names,
    alphas: Numbers,
    betas: Numbers,
    clip: float,
    **attrs: Any,
) -> Operand:
    """Export a recurrent layer as a standard node."""
    states = operands[2]
    assert states is not None
    size = states.shape[-1]
    return standard(
        op_type,
        *operands,
        n_outputs=n_outputs,
        hidden_size=size if isinstance(size, int) else None,
        activations=activations or None,
        activation_alpha=alphas or None,
        activation_beta=betas or None,
        clip=clip or None,
        **attrs,
    )


@gru.onnx("GRU")
def _(n: OnnxCall) -> Call:
    operands, attrs = common_operands(n, 6)
    return gru(*operands, **attrs, linear_before_reset=bool(n.attr("linear_before_reset", 0)))


@gru.export
def _(*operands: Tensor | None, **attrs: Any) -> Operand:
    return exported_layer("GRU", 2, operands, **attrs)


@lstm.onnx("LSTM")
def _(n: OnnxCall) -> Call:
    operands, attrs = common_operands(n, 8)
    return lstm(*operands, **attrs, input_forget=bool(n.attr("input_forget", 0)))


@lstm.export
def _(*operands: Tensor | None, rounded_states: bool, **attrs: Any) -> Operand | None:
    return None if rounded_states else exported_layer("LSTM", 3, operands, **attrs)


LENGTHS = np.array([3, 1], np.int32)


@rnn.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[3,2,5]", "f32[1,4,5]", "f32[1,4,4]"], {}
    operands = ["f32[3,2,5]", "f32[2,4,5]", "f32[2,4,4]", "f32[2,8]", LENGTHS, "f32[2,2,4]"]
    given = {"activations": ("Affine", "LeakyRelu"), "alphas": (0.5, 0.1), "betas": (0.25,)}
    yield operands, {"direction": "bidirectional", **given}
    batch_first = ["f64[2,3,5]", "f64[1,4,5]", "f64[1,4,4]", "f64[1,8]", None, "f64[2,1,4]"]
    yield batch_first, {"layout": 1, "direction": "reverse", "clip": 0.75}
    yield ["f32[0,2,5]", "f32[1,4,5]", "f32[1,4,4]"], {}


@gru.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[3,2,5]", "f32[1,12,5]", "f32[1,12,4]"], {}
    operands = ["f32[3,2,5]", "f32[2,12,5]", "f32[2,12,4]", "f32[2,24]", LENGTHS, "f32[2,2,4]"]
    yield operands, {"direction": "bidirectional", "linear_before_reset": True}
    batch_first = ["f32[2,3,5]", "f32[1,12,5]", "f32[1,12,4]", "f32[1,24]", None, "f32[2,1,4]"]
    yield batch_first, {"layout": 1, "direction": "reverse", "clip": 0.5}


@lstm.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[3,2,5]", "f32[1,16,5]", "f32[1,16,4]"], {}
    weights = ["f32[2,16,5]", "f32[2,16,4]", "f32[2,32]"]
    states = ["f32[2,2,4]", "f32[2,2,4]", "f32[2,12]"]
    yield ["f32[3,2,5]", *weights, LENGTHS, *states], {"direction": "bidirectional"}
    weights = ["f32[1,16,5]", "f32[1,16,4]", "f32[1,32]"]
    given = {"layout": 1, "direction": "reverse", "clip": 0.5, "input_forget": True}
    yield ["f32[2,3,5]", *weights, None, "f32[2,1,4]", None, "f32[1,12]"], given
    yield ["f32[5,3,2]", "f32[1,16,2]", "f32[1,16,4]"], {"rounded_states": True}
