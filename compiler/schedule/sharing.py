"""Stages that share their outer loops: what one makes for a row is read before the next row begins.

A softmax, a normalisation or attention has several stages, and each would walk over all rows, in
and out of the caches. Where a stage reads what another made at the same rows only, one loop over
the rows runs both, and what lies between them is memory for one row (or a block of rows) alone.

    for r { TOP[r] = ... }              for r {
    for r { E[r, j] = ... TOP[r] }        TOP[0] = ...
    for r { Y[r, j] = ... E[r, j] }       E[0, j] = ... TOP[0]
                                          Y[r, j] = ... E[0, j]
                                        }

Elsewhere this is called computing at a loop: Halide's `compute_at` (Ragan-Kelley et al. 2013).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from compiler.compute.computation import Routine, Stage, axis_of
from compiler.compute.scalar import Read, Scalar, fetches, rewrite, substitute
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.types import TensorType
from compiler.schedule.joining import Joint

Part = Joint | Routine
Tensors = Mapping[str, TensorType]


@dataclass(frozen=True, slots=True)
class Band:
    """Parts that may run inside one loop over `extent` places.

    `own` is what each part calls the axis; `held` are the tensors that are made and read inside
    alone, with the dimension that the axis is in.
    """

    parts: tuple[Joint, ...]
    own: tuple[str, ...]
    extent: Expr
    held: Mapping[str, int]

    @property
    def names(self) -> frozenset[str]:
        """What the parts call the axis."""
        return frozenset(self.own)

    @property
    def targets(self) -> str:
        """What is made inside."""
        return ", ".join(s.target for part in self.parts for s in part)


def bands(
    parts: Sequence[Part], tensors: Tensors, temporaries: frozenset[str], done: frozenset[str]
) -> Iterator[Part | Band]:
    """The parts in order, those together that share a loop: the longest runs first.

    `temporaries` are those that nothing but these parts reads. Axes in `done` are inside such a
    loop already.
    """
    found = _longest(parts, tensors, temporaries, done)
    if found is None:
        yield from parts
        return
    first, band = found
    behind = first + len(band.parts)
    before, after = parts[:first], parts[behind:]
    yield from bands(before, tensors, temporaries - _touched(parts[first:]), done)
    yield band
    yield from bands(after, tensors, temporaries - _touched(parts[:behind]), done)


def _longest(
    parts: Sequence[Part], tensors: Tensors, temporaries: frozenset[str], done: frozenset[str]
) -> tuple[int, Band] | None:
    """The longest run of parts with an axis to share, and where it begins."""
    for length in range(len(parts), 1, -1):
        for first in range(len(parts) - length + 1):
            run = [p for p in parts[first : first + length] if not isinstance(p, Routine)]
            if len(run) < length:
                continue
            others = [*parts[:first], *parts[first + length :]]
            if {s.target for p in run for s in p} & _stored(others):
                continue
            names = _common(run, tensors, temporaries, done)
            if names:
                own = names[0]
                held = _held(run, own, others, temporaries)
                return first, Band(tuple(run), own, run[0][0].extents[own[0]], held)
    return None


def _common(
    run: Sequence[Joint], tensors: Tensors, temporaries: frozenset[str], done: frozenset[str]
) -> list[tuple[str, ...]]:
    """The axes that all parts of a run can share, outermost first, under each part's own name."""
    made: dict[str, tuple[str, ...]] = {}
    alive = [a for a in run[0][0].axes if a not in done and run[0][0].extents[a] != 1]
    names: list[dict[str, str]] = []
    for number, part in enumerate(run):
        if any(s.target in made or tensors[s.target].layout.halo for s in part):
            return []
        known = {a: a for a in alive} if not number else _names_in(part, made)
        if known is None:
            return []
        alive = [a for a in alive if a in known and known[a] not in done]
        alive = [a for a in alive if _is_sharable(part, known[a], tensors, temporaries)]
        if not alive:
            return []
        names.append(known)
        back = {own: a for a, own in known.items()}
        for s in part:
            made[s.target] = tuple(back.get(axis_of(e) or "", "") for e in s.index)
    return [tuple(known[a] for known in names) for a in alive]


def _names_in(part: Joint, made: Mapping[str, tuple[str, ...]]) -> dict[str, str] | None:
    """What a part calls the axes of the run; None where it reads nothing of it, or anywhere."""
    names: dict[str, str] = {}
    refused: set[str] = set()
    n_found = 0
    for s in part:
        if any(f.tensor in made for f in fetches(s.value)):
            return None
        for r in (r for r in s.reads if r.tensor in made):
            n_found += 1
            for d, e in enumerate(r.index):
                a, own = made[r.tensor][d], axis_of(e)
                if not a:
                    continue
                if own not in s.axes or names.setdefault(a, str(own)) != own:
                    refused.add(a)
    if not n_found or len(set(names.values())) < len(names):
        return None
    return {a: own for a, own in names.items() if a not in refused}


def _is_sharable(part: Joint, axis: str, tensors: Tensors, temporaries: frozenset[str]) -> bool:
    """Whether one place of an axis after the other is a good order to compute a part in.

    It is none where the axis runs along memory and others do not, none over blocked channels, and
    none where a stage would be left with single elements.
    """
    for s in part:
        moving = {a for a, n in s.extents.items() if n != 1}
        if moving == {axis} and s.target not in temporaries:
            return False
        for t, index in ((s.target, s.index), *((r.tensor, r.index) for r in s.reads)):
            if t in temporaries or not index:
                continue
            if tensors[t].layout.block > 1 and axis in affine.symbols(index[1]):
                return False
            if axis in affine.symbols(index[-1]) and any(n != 1 for n in tensors[t].dims[:-1]):
                return False
    return True


def _held(
    run: Sequence[Joint], own: tuple[str, ...], others: Sequence[Part], temporaries: frozenset[str]
) -> dict[str, int]:
    inner = temporaries - _touched(others)
    return {
        s.target: next(d for d, e in enumerate(s.index) if axis_of(e) == a)
        for part, a in zip(run, own, strict=True)
        for s in part
        if s.target in inner
    }


def _stored(parts: Sequence[Part]) -> set[str]:
    every = (p.stored_tensors if isinstance(p, Routine) else {s.target for s in p} for p in parts)
    return {t for stored in every for t in stored}


def _touched(parts: Sequence[Part]) -> set[str]:
    """What parts read or make."""
    made = _stored(parts)
    for p in parts:
        for s in (p,) if isinstance(p, Routine) else p:
            made |= s.read_tensors
    return made


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the loop `var` of a band: `step` places further than the turn before.

    `places` of them are computed, fewer where the axis ends; memory has `room` for a block.
    """

    var: str
    step: int
    places: int
    room: int


def inside(band: Band, tensors: Tensors, turn: Turn) -> tuple[list[Part], dict[str, TensorType]]:
    """The parts of a band in one turn of its loop; tensors held inside shrink to one block."""
    changed = dict(tensors)
    for t, d in band.held.items():
        dims = tensors[t].dims
        changed[t] = replace(tensors[t], shape=(*dims[:d], turn.room, *dims[d + 1 :]))
    parts: list[Part] = [
        tuple(_in_turn(s, band, own, turn) for s in part)
        for part, own in zip(band.parts, band.own, strict=True)
    ]
    return parts, changed


def _in_turn(s: Stage, band: Band, own: str, turn: Turn) -> Stage:
    within: Expr = 0 if turn.step == 1 else affine.symbol(own)
    values: dict[str, Expr] = {own: affine.symbol(turn.var) * turn.step + within}

    def place(t: str, index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        d = band.held.get(t)
        return index if d is None else (*index[:d], within, *index[d + 1 :])

    def change(part: Scalar) -> Scalar | None:
        if isinstance(part, Read) and part.tensor in band.held:
            return replace(part, index=place(part.tensor, part.index))
        return None

    extents = {
        a: turn.places if a == own else n for a, n in s.extents.items() if a != own or turn.step > 1
    }
    index = tuple(affine.substitute(e, values) for e in s.index)
    value = rewrite(substitute(s.value, values), change)
    return Stage(s.target, place(s.target, index), value, extents)
