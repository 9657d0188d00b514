"""The policy for shared loops: consumers read each row before the producer computes the next.

A softmax, a normalisation or attention has several stages. If the stages ran one after another,
each stage would read and write all rows and evict them from the caches. If each row of a stage
depends only on the same row of another stage's results, `compute_at` places both stages in one loop
over rows. The temporary between producer and consumer then has one row or a block of rows. The
policy finds the longest sequences of stages that can share a loop. Then it searches each sequence
for further shared loops.

Source: Halide's `compute_at` (Ragan-Kelley et al. 2013).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from compiler.compute.computation import Routine, axis_of
from compiler.compute.scalar import fetches
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir import affine
from compiler.schedule.language.between import Stages, matching_axis
from compiler.schedule.stages.blocks import block_size, reason
from compiler.schedule.stages.iterations import Held, Tensors, held_inside, inside, iterations_of
from compiler.schedule.stages.joining import FusedStages
from compiler.schedule.stages.reuse import in_place
from compiler.schedule.stages.tree import Group, Part, leaves, name_of, read, stored, touched
from compiler.targets.target import Target


def share(stages: Stages, target: Target) -> Stages:
    """Move stages that read each other's rows into shared loops over the rows."""
    if stages.tiled is not None:
        return stages  # stages of a Winograd convolution share bands of tiles instead
    computation = stages.computation
    where = _Where(computation.tensors, frozenset(computation.temporaries), frozenset())
    return _shared(stages, tuple(leaves(stages.members)), where, target)


@dataclass(frozen=True, slots=True)
class _Where:
    """The context of parts: local tensor types, and axes that already have a loop (`done`).

    Only these parts read the `temporaries`.
    """

    tensors: Tensors
    temporaries: frozenset[str]
    done: frozenset[str]


def _shared(stages: Stages, parts: Sequence[Part], where: _Where, target: Target) -> Stages:
    for group, held in _groups(parts, where):
        places = in_place(group.nests, held, where.tensors)
        size = block_size(group, held.keys() - places.keys(), where.tensors, target)
        done = where.done | frozenset(group.own.values())
        if size == group.extent:  # a single iteration needs no loop
            stages = _shared(stages, group.nests, replace(where, done=done), target)
            continue
        group = replace(group, places=size)
        try:
            stages = _moved(stages, group)
        except CompileError:
            continue
        iteration = next(iteration for iteration, _, _ in iterations_of(group, ""))
        inner, tensors = inside(group, held, where.tensors, iteration)
        stages = _shared(
            stages, tuple(leaves(inner)), _Where(tensors, frozenset(held), done), target
        )
    return stages


def _moved(stages: Stages, group: Group) -> Stages:
    """Create a group by moves on the stages."""
    *others, last = group.nests
    n = group.places
    why = reason(group)
    for part in reversed(others):
        stages = stages.on(name_of(part)).because(why)
        stages = stages.compute_at(name_of(last), group.loop, *(() if n == 1 else (n,)))
        why = ""
    return stages


def _groups(parts: Sequence[Part], where: _Where) -> Iterator[tuple[Group, Held]]:
    """Yield groups of parts that may share a loop, in execution order, with their temporaries.

    The search finds the longest group first, and then the groups before and after it.
    """
    found = _longest(parts, where)
    if found is None:
        return
    first, group = found
    behind = first + len(group.members)
    before, after = parts[:first], parts[behind:]
    while (producer := _producer(group, before, after, where)) is not None:
        part, axis = producer
        before = [p for p in before if p is not part]
        group = Group((part, *group.members), {name_of(part): axis, **group.own}, group.places)
    yield from _groups(before, _apart(where, [*group.nests, *after]))
    yield group, held_inside(group, [*before, group, *after], where.temporaries)
    yield from _groups(after, _apart(where, [*before, *group.nests]))


def _producer(
    group: Group, before: Sequence[Part], after: Sequence[Part], where: _Where
) -> tuple[FusedStages, str] | None:
    """Return the last earlier part that only the group reads, at one index per iteration.

    Such a part reads no results of the group, so the group does not contain it yet. An example is
    the copy of an operand.
    """
    alone = _alone(before)
    for number, part in reversed([*enumerate(before)]):
        if isinstance(part, Routine) or alone[number + 1] > alone[number]:
            continue
        others = [*before[:number], *before[number + 1 :], *after]
        made = stored([part])
        if not made <= where.temporaries or made & touched(others):
            continue
        axis = matching_axis(part, group, where.temporaries) if made & read(group.nests) else ""
        if axis and axis not in where.done and part[0].extents[axis] == group.extent:
            if _is_sharable(part, axis, where.tensors, where.temporaries):
                return part, axis
    return None


def _apart(where: _Where, others: Sequence[Part]) -> _Where:
    return replace(where, temporaries=where.temporaries - touched(others))


def _longest(parts: Sequence[Part], where: _Where) -> tuple[int, Group] | None:
    """Return the start of the longest sequence of parts that can share an axis, and its group."""
    apart = _alone(parts)
    for length in range(len(parts), 1, -1):
        for first in range(len(parts) - length + 1):
            if apart[first + length] > apart[first]:
                continue
            run = [p for p in parts[first : first + length] if not isinstance(p, Routine)]
            names = _common(run, where.tensors, where.temporaries, where.done)
            if names:
                own = {name_of(p): a for p, a in zip(run, names[0], strict=True)}
                return first, Group(tuple(run), own, 1)
    return None


def _alone(parts: Sequence[Part]) -> list[int]:
    """Count, before each position, the parts that no sequence may contain.

    Sequences cannot contain routines, or parts that write a tensor which other parts also write.
    """
    makers = Counter(t for p in parts for t in stored([p]))
    alone = (isinstance(p, Routine) or any(makers[t] > 1 for t in stored([p])) for p in parts)
    return list(accumulate(alone, initial=0))


def _common(
    run: Sequence[FusedStages], tensors: Tensors, temporaries: frozenset[str], done: frozenset[str]
) -> list[tuple[str, ...]]:
    """Return the axes that all parts of a sequence can share, outermost first.

    Each tuple has the names of one axis in all parts.
    """
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


def _names_in(part: FusedStages, made: Mapping[str, tuple[str, ...]]) -> dict[str, str] | None:
    """Map each axis of a sequence to the axis by which all reads of the part index it.

    An axis is omitted if the reads index it by different axes, or by none. None if the part reads
    no results of the sequence, reads them at computed indices, or reads two axes at the same index.
    """
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


def _is_sharable(
    part: FusedStages, axis: str, tensors: Tensors, temporaries: frozenset[str]
) -> bool:
    """Return whether it is efficient to compute a part one index of an axis at a time.

    The axis must not run over blocked channels, nor be the only contiguous axis of a tensor. Each
    stage must compute several elements per index.
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
