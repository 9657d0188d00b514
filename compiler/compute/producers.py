"""Substitution of producers into consumers: fewer stages and less memory traffic.

Elementwise producers are inlined into the expressions of their consumers; an elementwise consumer
of a reduction becomes its epilogue.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from compiler.compute.computation import Routine, Stage, axis_of
from compiler.compute.scalar import Apply, Read, Scalar, fetches, rewrite, substitute, walk
from compiler.ir import affine
from compiler.ir.affine import Expr

DUPLICATE_LIMIT = 48
"""A producer with several reads is inlined if reads x operations is at most this number."""

REPEAT_LIMIT = 256
"""A producer with one consumer is inlined if reads x operations is at most this number.

The consumer reads the producer several times, always at the consumer's own point.
"""

EXPENSIVE = frozenset(
    {"exp", "decay", "log", "log1p", "expm1", "tanh", "erf", "sin", "cos", "pow", "sigmoid"}
)
"""Functions of dozens of instructions: loading a stored result is faster than recomputing it."""

NEAR_BYTES = 1 << 20
"""The cache of one core, in bytes: it bounds the stored results of expensive functions."""


def substitute_producers(stages: list[Stage | Routine], outputs: set[str]) -> list[Stage | Routine]:
    """Substitute producers into their consumers wherever the result is one expression per point.

    If the readers of a sum are substituted into each other, a single reader may remain. For
    example, both factors of hard-swish read the convolution. The substitution therefore repeats
    until no further stage is substituted.
    """
    before = len(stages) + 1
    while len(stages) < before:
        before, stages = len(stages), _substituted_once(stages, outputs)
    return stages


def _substituted_once(stages: list[Stage | Routine], outputs: set[str]) -> list[Stage | Routine]:
    """Substitute each producer into its consumers once, in order, where possible."""
    stages = list(stages)
    position = 0
    while position < len(stages):
        producer = stages[position]
        together = _finished_together(producer, stages, outputs)
        if together is not None:
            stages = together
            continue
        if not _is_movable(producer, stages, outputs):
            position += 1
            continue
        assert isinstance(producer, Stage)
        consumers = [
            s for s in stages if isinstance(s, Stage) and producer.target in s.read_tensors
        ]
        merged = [_merge(producer, c) for c in consumers] if consumers else []
        if not consumers:
            del stages[position]
        elif all(m is not None for m in merged) and _worth_copying(producer, consumers):
            for consumer, m in zip(consumers, merged, strict=True):
                assert m is not None
                stages[_place(stages, consumer)] = m
            del stages[position]
        else:
            position += 1
    return stages


def _finished_together(
    first: Stage | Routine, stages: list[Stage | Routine], outputs: set[str]
) -> list[Stage | Routine] | None:
    """If several sums store parts of one tensor, make its only consumer an epilogue of each sum."""
    if isinstance(first, Routine) or first.target in outputs:
        return None
    parts = [s for s in stages if first.target in s.stored_tensors]
    readers = [s for s in stages if first.target in s.read_tensors]
    if len(parts) < 2 or parts[0] is not first or len(readers) != 1:
        return None
    (consumer,) = readers
    if isinstance(consumer, Routine) or consumer.reduce or not consumer.is_identity_indexed():
        return None
    if any(f.tensor == first.target for f in fetches(consumer.value)):
        return None
    once: dict[str, Expr] = {a: 0 for a in consumer.axes if consumer.extents[a] == 1}
    read = {r.index for r in consumer.reads if r.tensor == first.target}
    places = {tuple(affine.substitute(e, once) for e in index) for index in read}
    if places != {tuple(affine.substitute(e, once) for e in consumer.index)}:
        return None
    sums = [p for p in parts if isinstance(p, Stage)]
    if len(sums) < len(parts) or all(p.reduce is None for p in sums):
        return None
    made = {id(p): _finished(p, consumer) for p in sums}
    # The sums run at the position of the consumer, so its other operands are available.
    kept = [s for s in stages if id(s) not in made]
    at = next(i for i, s in enumerate(kept) if s is consumer)
    return [*kept[:at], *made.values(), *kept[at + 1 :]]


def _finished(part: Stage, consumer: Stage) -> Stage:
    """Restrict the consumer to the elements that one sum stores."""
    value = substitute(consumer.value, dict(zip(consumer.axes, part.index, strict=True)))

    def change(s: Scalar) -> Scalar | None:
        return part.value if isinstance(s, Read) and s.tensor == part.target else None

    return Stage(consumer.target, part.index, rewrite(value, change), part.extents)


def _is_movable(
    producer: Stage | Routine, stages: list[Stage | Routine], outputs: set[str]
) -> bool:
    """Whether dependences on other stages allow a stage to move.

    Operands of routines, and operands read at computed indices, must be in memory.
    """
    if isinstance(producer, Routine) or producer.target in outputs:
        return False
    if not _is_sole_definition(producer, stages):
        return False
    for s in stages:
        if isinstance(s, Routine):
            if producer.target in s.read_tensors:
                return False
        elif any(f.tensor == producer.target for f in fetches(s.value)):
            return False
    return True


def _place(stages: list[Stage | Routine], stage: Stage) -> int:
    return next(i for i, s in enumerate(stages) if s is stage)


def _is_sole_definition(producer: Stage, stages: list[Stage | Routine]) -> bool:
    alone = sum(producer.target in s.stored_tensors for s in stages) == 1
    return alone and producer.is_identity_indexed()


def _worth_copying(producer: Stage, consumers: list[Stage]) -> bool:
    n_reads = sum(r.tensor == producer.target for c in consumers for r in c.reads)
    if producer.reduce is not None:
        # The reduction runs once, for any number of reads of its result.
        return len(consumers) == 1
    size = sum(1 for _ in walk(producer.value))
    if len(consumers) == 1 and _is_read_at_one_place(producer, consumers[0]):
        return n_reads * size <= REPEAT_LIMIT
    if n_reads > 1 and _is_better_stored(producer, consumers):
        return False
    return n_reads == 1 or n_reads * size <= DUPLICATE_LIMIT


def _is_read_at_one_place(producer: Stage, consumer: Stage) -> bool:
    """Whether a consumer reads a producer several times, but only at the consumer's own point.

    Code generation computes the common subexpression once.
    """
    found = [r.index for r in consumer.reads if r.tensor == producer.target]
    if consumer.reduce is not None or len(found) < 2 or len(set(found)) > 1:
        return False
    along = {axis_of(e) for e in found[0]}
    return all(a in along or consumer.extents[a] == 1 for a in consumer.axes)


def _is_better_stored(producer: Stage, consumers: list[Stage]) -> bool:
    """Return whether values should be stored: recomputing them is expensive, and they fit a cache.

    If a consumer sums over some axes and all consumers share the other axes, a schedule stores only
    one row at a time. In this case, only one row must fit.
    """
    if not any(isinstance(s, Apply) and s.fn in EXPENSIVE for s in walk(producer.value)):
        return False
    at = [(c, r.index) for c in consumers for r in c.reads if r.tensor == producer.target]
    summed = [d for c, index in at for d, e in enumerate(index) if axis_of(e) not in c.axes]
    sizes = [producer.extents[a] for a in producer.axes[min(summed, default=0) :]]
    return prod(affine.assumed(n) for n in sizes) * producer.value.dtype.nbytes <= NEAR_BYTES


def _merge(producer: Stage, consumer: Stage) -> Stage | None:
    if producer.reduce is None:
        return into_consumer(producer, consumer)
    return _as_epilogue(producer, consumer)


def into_consumer(producer: Stage, consumer: Stage) -> Stage:
    """Replace the consumer's reads of the producer by the producer's value."""

    def change(s: Scalar) -> Scalar | None:
        if isinstance(s, Read) and s.tensor == producer.target:
            values = dict(zip(producer.axes, s.index, strict=True))
            return substitute(producer.value, values)
        return None

    return replace(consumer, value=rewrite(consumer.value, change))


def _as_epilogue(producer: Stage, consumer: Stage) -> Stage | None:
    """Make the consumer the epilogue of the producer's reduction; None if domains differ."""
    if consumer.reduce is not None or not consumer.is_identity_indexed():
        return None
    found = [r for r in consumer.reads if r.tensor == producer.target]
    if len({r.index for r in found}) != 1:
        return None
    symbols = [axis_of(e) for e in found[0].index]
    sizes = dict(zip(producer.axes, (producer.extents[a] for a in producer.axes), strict=True))
    rename: dict[str, Expr] = {}
    for symbol, own in zip(symbols, producer.axes, strict=True):
        if symbol is None:
            if sizes[own] == 1:
                continue
            return None
        if symbol in rename or consumer.extents[symbol] != sizes[own]:
            return None
        rename[symbol] = affine.symbol(own)
    # The consumer reads axes of size 1 at index 0; match them in order with its other axes.
    once = [a for a, s in zip(producer.axes, symbols, strict=True) if s is None]
    left = [a for a in consumer.axes if a not in rename]
    if len(left) > len(once) or any(consumer.extents[a] != 1 for a in left):
        return None
    rename.update((a, affine.symbol(own)) for a, own in zip(left, once, strict=False))
    value = substitute(consumer.value, rename)
    inner = substitute(producer.value, {a: 0 for a in once[len(left) :]})

    def change(s: Scalar) -> Scalar | None:
        return inner if isinstance(s, Read) and s.tensor == producer.target else None

    index = tuple(affine.substitute(e, rename) for e in consumer.index)
    order = [axis_of(e) for e in index]
    extents = {a: sizes[a] for a in order if a is not None}
    extents.update((a, producer.extents[a]) for a in producer.reduce_axes)
    return Stage(consumer.target, index, rewrite(value, change), extents)
