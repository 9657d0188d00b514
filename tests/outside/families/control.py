"""If, Loop, Scan and SequenceMap, whose bodies are drafts that may read outer values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import GraphProto

from tests.outside.draft import Draft, Dropped
from tests.outside.family import family
from tests.outside.steps import draw_steps
from tests.outside.values import FLOATS, INTEGERS, TENSORS, Array, label_of

DEEPEST = 2
"""Maximum nesting depth of bodies."""

CARRIED = (*FLOATS, *INTEGERS, "bool")


def body(d: Draft) -> Draft:
    """Return an empty body. Errors: Dropped beyond the nesting limit."""
    if d.depth >= DEEPEST:
        raise Dropped
    return Draft(d.chance, d.opset, d, d.fresh("b") + "_")


def parameter(b: Draft, value: Array) -> str:
    """Return an input of a body, with its value in the first iteration."""
    name = b.fresh("p")
    b.inputs.append(name)
    b.values[name] = value
    b.local.append(name)
    return name


def finished(b: Draft, outputs: Sequence[str]) -> GraphProto:
    """Return the body as a graph; results that it does not compute pass through an Identity."""
    made = {o for n in b.nodes for o in n.output}
    named: list[str] = []
    for output in outputs:
        fresh = output in made and output not in named
        named.append(output if fresh else b.one("Identity", [output]))
    graph = b.graph(named, b.prefix.strip("_"))
    if b.chance.random() < 0.5:  # the sizes of parameters are unknown too
        for v in graph.input:
            if v.type.tensor_type.shape.dim:
                for dim in v.type.tensor_type.shape.dim:
                    dim.Clear()
    return graph


def condition(d: Draft) -> str:
    """Return a Boolean: a constant, an input, or a computed value."""
    if d.maybe(0.5) and (x := d.found(lambda v: v.size > 0, ("f32", "i64", "i32"))):
        flat = d.one("ReduceMax", [d.one("Reshape", [x, d.constant([-1])])], keepdims=0)
        zero = d.constant(np.asarray(d.chance.choice((0, 1, 3)), d.values[flat].dtype))
        return d.one("Greater", [flat, zero])
    return d.given(np.asarray(d.maybe()))


def results(b: Draft, labels: Sequence[str]) -> list[str]:
    """Return values of these types, computed in the body or captured."""
    made: list[str] = []
    for label in labels:
        own = [n for n in b.local if label_of(b.values[n]) == label]
        made.append(b.chance.choice(own[-3:]) if own else b.tensor((label,)))
    return made


@family("If", weight=2)
def _(d: Draft, op: str) -> None:
    """One to three results; branches may give different shapes."""
    chosen = condition(d)
    one, other = body(d), body(d)
    draw_steps(one, d.chance.randint(1, 5))
    draw_steps(other, d.chance.randint(0, 5))
    own = [n for n in one.local if label_of(one.values[n]) in TENSORS]
    if not own:
        raise Dropped
    first = d.chance.sample(own, min(len(own), d.chance.choice((1, 1, 2, 3))))
    second = results(other, [label_of(one.values[n]) for n in first])
    branches = {"then_branch": finished(one, first), "else_branch": finished(other, second)}
    d.node(op, [chosen], len(first), **branches)


def next_state(b: Draft, state: str) -> str:
    """Return the next value of a state, of the same type and shape."""
    label, shape = b.label(state), b.shape(state)
    fits = [
        n
        for n in b.local
        if n not in b.inputs and label_of(b.values[n]) == label and b.shape(n) == shape
    ]
    if fits:
        return b.chance.choice(fits[-3:])
    if label in FLOATS:
        half = b.one("Mul", [state, b.constant(np.asarray(0.5, b.values[state].dtype))])
        return b.one("Add", [half, b.like(label, shape)])
    if label in INTEGERS:
        return b.one("Add", [state, b.like(label, shape)])
    return b.one("Xor", [state, b.like(label, shape)])


@family("Loop", weight=1.5)
def _(d: Draft, op: str) -> None:
    """Zero to five iterations; the condition is omitted, constant or computed; scan outputs."""
    states = [d.tensor(CARRIED, (0, 3)) for _ in range(d.chance.choice((0, 1, 1, 2)))]
    b = body(d)
    turn = parameter(b, np.asarray(0, np.int64))
    go = parameter(b, np.asarray(True))
    carried = [parameter(b, d.values[s]) for s in states]
    draw_steps(b, d.chance.randint(1, 5))
    after = [next_state(b, c) for c in carried]
    if grows := [c for c in carried if len(b.shape(c)) == 1 and b.maybe(0.3)]:
        more = b.like(b.label(grows[0]), (1,))
        after[carried.index(grows[0])] = b.one("Concat", [grows[0], more], axis=0)
    collected = [
        n
        for n in b.local
        if n not in b.inputs and label_of(b.values[n]) in TENSORS and b.maybe(0.4)
    ][-2:]
    if not states and not collected:
        raise Dropped
    again = go if b.maybe(0.7) else b.one("Less", [turn, b.constant(d.chance.randint(0, 3))])
    # The sizes of scan outputs of a loop without iterations are undefined.
    turns = d.chance.choice((1, 2, 3, 5) if collected else (0, 1, 2, 3, 5))
    count = d.numbers(turns) if again == go or d.maybe(0.7) else ""
    goes = np.asarray(bool(collected) or d.maybe(0.9))
    start = d.given(goes) if d.maybe(0.3) or not count else ""
    graph = finished(b, [again, *after, *collected])
    d.node(op, [count, start, *states], len(states) + len(collected), body=graph)


@family("Scan", weight=1.2)
def _(d: Draft, op: str) -> None:
    """Scans over any axis, forward or backward, with zero to two states."""
    first = d.tensor(CARRIED, (1, 4), lambda v: v.size > 0)
    axis = d.chance.randrange(len(d.shape(first)))
    turns = d.shape(first)[axis]
    if turns > 40:
        raise Dropped
    over, axes = [first], [axis]
    if d.maybe(0.4):
        shape = [d.chance.choice((1, 2, 3)) for _ in range(d.chance.choice((0, 1, 2)))]
        axes.append(d.chance.randint(0, len(shape)))
        shape.insert(axes[-1], turns)
        over.append(d.like(d.some_label(CARRIED), shape))
    ways = [d.chance.choice((0, 0, 1)) for _ in over]
    states = [d.tensor(CARRIED, (0, 3)) for _ in range(d.chance.choice((0, 1, 1, 2)))]
    b = body(d)
    carried = [parameter(b, d.values[s]) for s in states]
    for name, a, w in zip(over, axes, ways, strict=True):
        parameter(b, np.asarray(np.take(d.values[name], -1 if w else 0, a)))
    draw_steps(b, d.chance.randint(1, 5))
    after = [next_state(b, c) for c in carried]
    own = [n for n in b.local if n not in b.inputs and label_of(b.values[n]) in TENSORS]
    collected = d.chance.sample(own, min(len(own), d.chance.choice((0, 1, 2))))
    if not states and not collected:
        raise Dropped
    attrs: dict[str, list[int]] = {}
    if any(axes) or d.maybe(0.2):
        attrs["scan_input_axes"] = [
            a - d.values[n].ndim if d.maybe(0.3) else a for a, n in zip(axes, over, strict=True)
        ]
    if any(ways) or d.maybe(0.2):
        attrs["scan_input_directions"] = ways
    if collected and d.maybe(0.3):
        attrs["scan_output_axes"] = [
            d.chance.randint(0, min(1, b.values[n].ndim)) for n in collected
        ]
        attrs["scan_output_directions"] = [d.chance.choice((0, 1)) for _ in collected]
    graph = finished(b, [*after, *collected])
    n_outputs = len(states) + len(collected)
    d.node(op, [*states, *over], n_outputs, body=graph, num_scan_inputs=len(over), **attrs)


@family("SequenceMap", weight=0.4)
def _(d: Draft, op: str) -> None:
    x = d.tensor(("f32", "i64"), (1, 3))
    parts = d.one("SequenceConstruct", [x, d.like(d.label(x), d.shape(x))])
    b = body(d)
    parameter(b, d.values[x])
    draw_steps(b, 2)
    own = [n for n in b.local if n not in b.inputs and label_of(b.values[n]) in ITEMS]
    if not own:
        raise Dropped
    made = d.one(op, [parts], body=finished(b, own[-1:]))
    d.one("SequenceAt", [made, d.constant(1)])


ITEMS = ("f32", "f64", "i64", "bool")
