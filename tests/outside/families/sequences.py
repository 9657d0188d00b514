"""Sequences and optionals, all converted to tensors at the end."""

from __future__ import annotations

from tests.outside.draft import Draft
from tests.outside.family import family
from tests.outside.values import code, label_of

ITEMS = ("f32", "f32", "i64", "bool", "f64")


def sequence(d: Draft) -> str:
    """Return a sequence of one to three tensors of one type and rank."""
    x = d.tensor(ITEMS, (1, 3))
    others = [d.like(d.label(x), d.shape(x)) for _ in range(d.chance.choice((0, 1, 2)))]
    return d.one("SequenceConstruct", [x, *others])


def length(d: Draft, name: str) -> int:
    return len(d.values[name])


@family("SequenceConstruct", "SequenceAt")
def _(d: Draft, op: str) -> None:
    s = sequence(d)
    n = length(d, s)
    d.one("SequenceAt", [s, d.numbers(d.chance.randint(-n, n - 1))])


@family("SequenceLength", weight=0.5)
def _(d: Draft, op: str) -> None:
    d.one(op, [sequence(d)])


@family("SequenceInsert", "SequenceErase", weight=0.7)
def _(d: Draft, op: str) -> None:
    s = sequence(d)
    n = length(d, s)
    first = d.values[s][0]
    x = d.like(label_of(first), first.shape)
    at = [d.numbers(d.chance.randint(-n, n))] if d.maybe() else []
    s = d.one("SequenceInsert", [s, x, *at])
    if op == "SequenceErase":
        s = d.one(op, [s, *([d.numbers(d.chance.randint(-n, n - 1))] if d.maybe() else [])])
    d.one("SequenceAt", [s, d.constant(0)])


@family("SequenceEmpty", weight=0.4)
def _(d: Draft, op: str) -> None:
    s = d.one(op, [], dtype=code("f32"))
    s = d.one("SequenceInsert", [s, d.tensor(("f32",), (1, 3))])
    if d.maybe():
        d.one("SequenceLength", [s])
    else:
        d.one("ConcatFromSequence", [s], axis=0)


@family("ConcatFromSequence")
def _(d: Draft, op: str) -> None:
    s = sequence(d)
    axis = d.axis(d.values[s][0].ndim)
    d.one(op, [s], axis=axis, new_axis=d.chance.choice((None, 0, 1)))


@family("SplitToSequence")
def _(d: Draft, op: str) -> None:
    x = d.tensor(("f32", "i64", "f64"), (1, 4), lambda v: v.size > 0)
    axis = d.axis(len(d.shape(x)))
    size = d.shape(x)[axis]
    by = d.chance.choice(([], [d.numbers(d.chance.randint(1, size))], [d.numbers([1, size - 1])]))
    keep = d.chance.choice((None, 0, 1)) if not by else None
    s = d.one(op, [x, *by], axis=axis, keepdims=keep)
    d.one("SequenceAt", [s, d.numbers(d.chance.choice((0, -1)))])


@family("Optional", "OptionalHasElement", "OptionalGetElement", weight=0.4)
def _(d: Draft, op: str) -> None:
    x = d.tensor(("f32", "i64"), (1, 3))
    if op == "OptionalHasElement" and d.maybe(0.3):
        d.one(op, [""])
        return
    d.one("OptionalGetElement" if op == "Optional" else op, [x])
