"""One iteration of a loop that stages share: the part of each stage, and the temporaries.

for r { TOP[r] = ... }              for r {
for r { E[r, j] = ... TOP[r] }        TOP[0] = ...
for r { Y[r, j] = ... E[r, j] }       E[0, j] = ... TOP[0]
                                      Y[r, j] = ... E[0, j]
                                    }
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from compiler.compute.computation import Stage, axis_of
from compiler.compute.scalar import Read, Scalar, rewrite, substitute
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.types import TensorType
from compiler.schedule.stages.tree import Group, Member, leaves, name_of, touched

Tensors = Mapping[str, TensorType]

Held = Mapping[str, int]
"""For each tensor that is local to a group, the dimension that the group's axis indexes."""


def held_inside(group: Group, members: Sequence[Member], temporaries: frozenset[str]) -> Held:
    """Return the temporaries that live for one iteration of a group; `members` has all readers."""
    inner = temporaries - touched([*leaves([m for m in members if m is not group])])
    return {
        s.target: next(d for d, e in enumerate(s.index) if axis_of(e) == group.own[name_of(part)])
        for part in group.nests
        for s in part
        if s.target in inner
    }


@dataclass(frozen=True, slots=True)
class Iteration:
    """One iteration of the loop `var` of a group; each iteration advances by `step` positions.

    The iteration computes `places` positions of the axis; the last iteration may compute fewer.
    Local buffers have space for `room` positions of the axis.
    """

    var: str
    step: int
    places: Expr
    room: int


def iterations_of(group: Group, var: str) -> Iterator[tuple[Iteration, Expr, Expr]]:
    """Yield the loop over full blocks, then an iteration or loop for the remaining positions."""
    size = group.places
    n_blocks, left = affine.floordiv(group.extent, size), affine.mod(group.extent, size)
    if n_blocks != 0:
        yield Iteration(var, size, size, size), 0, n_blocks
    if isinstance(left, int) and left:
        yield Iteration(var, size, left, size), n_blocks, n_blocks + 1
    elif left != 0 and size > 1:
        yield (
            Iteration(var, size, left, size),
            n_blocks,
            affine.floordiv(group.extent + size - 1, size),
        )


def inside(
    group: Group, held: Held, tensors: Tensors, iteration: Iteration
) -> tuple[tuple[Member, ...], dict[str, TensorType]]:
    """Return the members in one iteration of a group, and the types of tensors in the iteration.

    The type of a local tensor has the size of one block.
    """
    changed = dict(tensors)
    for t, d in held.items():
        dims = tensors[t].dims
        changed[t] = replace(tensors[t], shape=(*dims[:d], iteration.room, *dims[d + 1 :]))
    nests = [
        tuple(_in_turn(s, held, group.own[name_of(part)], iteration) for s in part)
        for part in group.nests
    ]
    return group.over(nests).members, changed


def _in_turn(s: Stage, held: Held, own: str, iteration: Iteration) -> Stage:
    within: Expr = 0 if iteration.step == 1 else affine.symbol(own)
    values: dict[str, Expr] = {own: affine.symbol(iteration.var) * iteration.step + within}

    def place(t: str, index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        d = held.get(t)
        return index if d is None else (*index[:d], within, *index[d + 1 :])

    def change(part: Scalar) -> Scalar | None:
        if isinstance(part, Read) and part.tensor in held:
            return replace(part, index=place(part.tensor, part.index))
        return None

    extents = {
        a: iteration.places if a == own else n
        for a, n in s.extents.items()
        if a != own or iteration.step > 1
    }
    index = tuple(affine.substitute(e, values) for e in s.index)
    value = rewrite(substitute(s.value, values), change)
    return Stage(s.target, place(s.target, index), value, extents)
