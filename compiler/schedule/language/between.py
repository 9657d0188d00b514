"""Moves on the stages of a kernel (`inline`, `compute_at`); these moves precede moves on loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Self

from compiler.compute.computation import Computation, Routine, Stage, axis_of
from compiler.compute.producers import into_consumer
from compiler.compute.scalar import Read, fetches, walk
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.schedule.language.call import Call, Line
from compiler.schedule.language.legal import require_legal
from compiler.schedule.language.move import Count, LoopName, StageName, move
from compiler.schedule.language.text import did_you_mean
from compiler.schedule.stages.joining import FusedStages, fuse_stages
from compiler.schedule.stages.tree import Group, Member, leaves, name_of, named, read, stored
from compiler.schedule.tiled.forms import Tiled, find_tiled

MOST_OPERATIONS = 2_000
"""The maximum number of operations of a stage after inlining."""


@dataclass(frozen=True)
class Stages:
    """The stages of a kernel and their shared loops, with the moves applied so far.

    `stage` names the stage that the next move transforms. `tiled` are the stages of a Winograd
    convolution; they share loops over bands of tiles.
    """

    computation: Computation
    constants: frozenset[str]
    members: tuple[Member, ...]
    tiled: Tiled | None
    stage: str = ""
    lines: tuple[Line, ...] = ()
    reason: str = ""

    @classmethod
    def of(cls, computation: Computation, constants: frozenset[str]) -> Self:
        """Return the stages of a computation, without shared loops."""
        parts = tuple(fuse_stages(computation))
        return cls(computation, constants, parts, find_tiled(parts, computation, constants))

    def on(self, stage: str) -> Self:
        """Return the stages with `stage` as the stage that the next move transforms."""
        return replace(self, stage=stage)

    def because(self, reason: str) -> Self:
        """Return the stages with the reason that the next move records."""
        return replace(self, reason=reason)

    def noted(self, call: Call, before: Self) -> Self:
        """Return the stages with the recorded moves of `before`, followed by `call`."""
        return replace(self, lines=(*before.lines, Line(self.stage, call)), reason="")

    def require_sound(self) -> None:
        """Check nothing: moves on stages have no invariant beyond their own conditions."""

    @move(
        level="stages",
        example="""
        computation softmax(A: f32[3,10]) -> Y: f32[3,10] {
          temporary E: f32[3,10]
          temporary S: f32[3]
          E[i, j] = exp(A[i, j])  for i<3, j<10
          S[i] = reduce_add([k], E[i, k])  for i<3, k<10
          Y[i, j] = div(E[i, j], S[i])  for i<3, j<10
        }
        =>
        E: inline()
        =>
        for i in 0..3 {
          acc[] = f32(0.0)
          for k in 0..10 {
            acc[] = add(acc[], exp(A[i, k]))
          }
          S[i] = acc[]
        }
        for i in 0..3 {
          for j in 0..10 {
            Y[i, j] = div(exp(A[i, j]), S[i])
          }
        }
        """,
        near_miss="""
        computation mean(A: f32[3,10]) -> Y: f32[3,10] {
          temporary S: f32[3]
          S[i] = reduce_add([k], A[i, k])  for i<3, k<10
          Y[i, j] = sub(A[i, j], S[i])  for i<3, j<10
        }
        =>
        S: inline()
        =>
        S is a reduction
        """,
    )
    def inline(self) -> Self:
        """Replace each read of a stage by the expression of the stage, and do not store the stage.

        Inlining saves a store and a load per element, but recomputes an element at every read.
        A stage cannot be inlined if it is a result or a reduction, or if it is read at computed
        indices.
        """
        part = self._part(self.stage)
        require_legal(
            all(not isinstance(m, Group) for m in self.members),
            "some stages already run inside loops of other stages",
            "move inline() before all compute_at()",
        )
        (stage, *others) = part
        t = stage.target
        require_legal(
            not others and t not in self.computation.outputs, f"{t} is a result of the kernel"
        )
        require_legal(
            stage.reduce is None,
            f"{t} is a reduction: every read would recompute the entire reduction",
        )
        require_legal(
            self._is_filled_once(t) and stage.is_identity_indexed(), f"several stages fill {t}"
        )
        position = next(i for i, s in enumerate(self.computation.stages) if s is stage)
        later = self.computation.stages[position + 1 :]
        require_legal(
            stage.read_tensors.isdisjoint(u for s in later for u in s.stored_tensors),
            f"an operand of {t} is overwritten before {t} is read",
        )
        made = tuple(_with_inlined(stage, s) for s in later)
        tensors = {n: v for n, v in self.computation.tensors.items() if n != t}
        stages = (*self.computation.stages[:position], *made)
        computation = replace(self.computation, tensors=tensors, stages=stages)
        parts = tuple(fuse_stages(computation))
        tiled = find_tiled(parts, computation, self.constants)
        return replace(self, computation=computation, members=parts, tiled=tiled)

    @move(
        level="stages",
        example="""
        computation softmax(A: f32[3,10]) -> Y: f32[3,10] {
          temporary E: f32[3,10]
          temporary S: f32[3]
          E[i, j] = exp(A[i, j])  for i<3, j<10
          S[m] = reduce_add([k], E[m, k])  for m<3, k<10
          Y[i, j] = div(E[i, j], S[i])  for i<3, j<10
        }
        =>
        S: compute_at(Y, i)
        E: compute_at(Y, i)
        =>
        for i_at in 0..3 {
          for j in 0..10 {
            E[0, j] = exp(A[i_at, j])
          }
          acc[] = f32(0.0)
          for k in 0..10 {
            acc[] = add(acc[], E[0, k])
          }
          S[0] = acc[]
          for j in 0..10 {
            Y[i_at, j] = div(E[0, j], S[0])
          }
        }
        """,
        near_miss="""
        computation softmax(A: f32[3,10]) -> Y: f32[3,10] {
          temporary E: f32[3,10]
          temporary S: f32[3]
          E[i, j] = exp(A[i, j])  for i<3, j<10
          S[m] = reduce_add([k], E[m, k])  for m<3, k<10
          Y[i, j] = div(E[i, j], S[i])  for i<3, j<10
        }
        =>
        E: compute_at(Y, i)
        =>
        S reads E before the loop over i begins
        """,
    )
    def compute_at(self, stage: StageName, loop: LoopName, places: Count = 1) -> Self:
        """Compute a stage in another stage's loop: each iteration computes the elements it reads.

        Each iteration computes `places` elements along the axis of the loop. If only the loop reads
        the stage, the stage needs memory for a single iteration; the move helps if this memory fits
        a cache. All stages between producer and consumer must also run inside the loop, so move the
        last producer first.
        """
        part, other = self._part(self.stage), self._part(stage)
        require_legal(part is not other, f"{stage} cannot run inside its own loop")
        self._require_free(self.stage, part)
        around = _around(self.members, other)
        group = next((g for g in around if g.consumer is other and g.loop == loop), None)
        if group is None:
            inside = around
            group = self._new_group(stage, other, loop, places, around)
            at: Member = other
        else:
            inside, at = around[: around.index(group)], group
            require_legal(
                group.places == places,
                f"the loop over {loop} of {stage} computes {group.places} positions per iteration",
            )
        self._require_beside(part, stage, inside)
        siblings = inside[-1].members if inside else self.members
        own = self._own_axis(part, group, siblings, at)
        require_legal(
            all(g.own[name_of(part)] != own for g in inside),
            f"a loop over {own} already contains {self.stage}",
        )
        grown = Group((part, *group.members), {name_of(part): own, **group.own}, group.places)
        return replace(self, members=_moved(self.members, part, at, grown))

    def _new_group(
        self, stage: str, other: FusedStages, loop: str, places: int, around: Sequence[Group]
    ) -> Group:
        """Create a group: a loop of a nest, with only this nest inside. Errors: E-SCHEDULE-MOVE."""
        self._require_free(stage, other)
        names = ", ".join(other[0].axes) or "none"
        require_legal(
            loop in other[0].axes, f"{stage} has no loop {loop!r} over its points: {names}"
        )
        require_legal(
            all(g.own[name_of(other)] != loop for g in around),
            f"a loop over {loop} already contains {stage}",
        )
        extent = other[0].extents[loop]
        require_legal(
            not isinstance(extent, int) or places < extent,
            f"{loop} of {stage} has {extent} positions: with {places} per iteration, "
            "no loop remains",
        )
        self._require_no_blocks(other, loop)
        return Group((other,), {name_of(other): loop}, places)

    def _part(self, name: str) -> FusedStages:
        """Return the nest with this name. Errors: E-SCHEDULE-MOVE."""
        found = named(self.members)
        beside = (n for n, part in found.items() if any(s.target == name for s in part[1:]))
        together = next(beside, "")
        require_legal(
            name in found or not together, f"{name} is part of the nest {together}: use that name"
        )
        require_legal(
            name in found,
            f"there is no stage {name!r:.60}{did_you_mean(name, found)}",
            f"the stages are {', '.join(found)}",
        )
        return found[name]

    def _is_filled_once(self, tensor: str) -> bool:
        return sum(tensor in s.stored_tensors for s in self.computation.stages) == 1

    def _require_free(self, name: str, part: FusedStages) -> None:
        """Check that a nest may run inside a loop that other nests share."""
        tensors = self.computation.tensors
        if self.tiled is not None:
            own = [*self.tiled.results, self.tiled.weights, self.tiled.image, self.tiled.product]
            require_legal(
                all(s is not t for s in part for t in own),
                f"{name} belongs to a Winograd convolution, whose stages share bands of tiles",
            )
        for s in part:
            require_legal(self._is_filled_once(s.target), f"several stages fill {s.target}")
            require_legal(
                not tensors[s.target].layout.halo, f"the halo of {s.target} is stored only once"
            )

    def _require_no_blocks(self, part: FusedStages, axis: str) -> None:
        tensors = self.computation.tensors
        for s in part:
            for t, index in ((s.target, s.index), *((r.tensor, r.index) for r in s.reads)):
                require_legal(
                    not (tensors[t].layout.block > 1 and axis in affine.symbols(index[1])),
                    f"{axis} runs over the blocked channels of {t}",
                )

    def _require_beside(self, part: FusedStages, stage: str, inside: Sequence[Group]) -> None:
        """Check that a nest and the loop that it is to join are inside the same loops."""
        own = _around(self.members, part)
        missing = next((g for g in inside if g not in own), None)
        require_legal(
            missing is None,
            f"{stage} runs inside a loop over {missing.loop if missing else ''} of "
            f"{name_of(missing.consumer) if missing else ''}, but {self.stage} does not",
            f"compute {self.stage} at that loop first",
        )
        require_legal(
            len(own) == len(inside),
            f"{self.stage} runs inside a loop over {own[-1].loop if own else ''} of "
            f"{name_of(own[-1].consumer) if own else ''}, but {stage} does not",
        )

    def _own_axis(
        self, part: FusedStages, group: Group, siblings: Sequence[Member], at: Member
    ) -> str:
        """Return the axis of a nest that matches the loop of `group`, which the nest is to join.

        Errors: E-SCHEDULE-MOVE if an iteration needs elements of other iterations, or another
        stage reads the nest's results earlier.
        """
        made, needed = stored([part]), read([part])
        begin, end = siblings.index(part), siblings.index(at)
        consumer = name_of(group.consumer)
        require_legal(begin < end, f"{self.stage} runs after {consumer}")
        for m in leaves(siblings[begin + 1 : end]):
            reader = "a routine" if isinstance(m, Routine) else name_of(m)
            tensor = next(iter(sorted(made & read([m]))), "")
            require_legal(
                not tensor,
                f"{reader} reads {tensor} before the loop over {group.loop} begins",
                "" if isinstance(m, Routine) else f"compute {reader} at that loop first",
            )
            require_legal(
                needed.isdisjoint(stored([m])), f"{reader} overwrites an operand of {self.stage}"
            )
        own = matching_axis(part, group, self.computation.temporaries)
        words = "read" if made & read(group.nests) else "belong to"
        require_legal(
            bool(own),
            f"no axis of {self.stage} matches the loop over {group.loop} of {consumer}: each "
            f"iteration must {words} one position",
        )
        require_legal(
            part[0].extents[own] == group.extent,
            f"{own} of {self.stage} has {part[0].extents[own]} positions, but {group.loop} of "
            f"{consumer} has {group.extent}",
        )
        self._require_no_blocks(part, own)
        return own


def _around(members: Sequence[Member], part: FusedStages) -> list[Group]:
    """Return the groups that contain a nest, outermost first."""
    for m in members:
        if isinstance(m, Group) and any(p is part for p in m.nests):
            return [m, *_around(m.members, part)]
    return []


def _moved(
    members: Sequence[Member], part: FusedStages, at: Member, made: Group
) -> tuple[Member, ...]:
    """Remove a nest from its position and replace the member `at` with the group `made`."""
    found: list[Member] = []
    for m in members:
        if m is at:
            found.append(made)
        elif isinstance(m, Group):
            found.append(replace(m, members=_moved(m.members, part, at, made)))
        elif m is not part:
            found.append(m)
    return tuple(found)


def matching_axis(part: FusedStages, group: Group, temporaries: Iterable[str]) -> str:
    """Return the nest's axis whose positions match the iterations of a group; "" if none does."""
    made = {s.target: s for s in part}
    found = list(part[0].axes)
    n_reads = 0
    for nest in group.nests:
        own = group.own[name_of(nest)]
        for s in nest:
            if any(f.tensor in made for f in fetches(s.value)):
                return ""
            for r in (r for r in s.reads if r.tensor in made):
                here = _at(made[r.tensor].index, r.index, own)
                found = [a for a in found if a in here]
                n_reads += 1
    if not n_reads:
        found = [a for a in _beside(part, group, frozenset(temporaries)) if a in found]
        found = [a for a in found if part[0].extents[a] == group.extent]
    return found[0] if found else ""


def _at(index: tuple[Expr, ...], places: tuple[Expr, ...], own: str) -> set[str | None]:
    """Return the components of an index at the positions where `places` has the axis `own`."""
    return {axis_of(e) for e, place in zip(index, places, strict=True) if axis_of(place) == own}


def _beside(part: FusedStages, group: Group, temporaries: frozenset[str]) -> list[str | None]:
    """Return the axes of a nest that correspond to the group's axis, if no member reads the nest.

    Axes of operands that both the nest and the consumer read come first, then axes of results.
    """
    other = group.consumer
    pairs = [
        (r.index, q.index, r.tensor)
        for s in part
        for r in s.reads
        for t in other
        for q in t.reads
        if r.tensor == q.tensor
    ]
    pairs.sort(key=lambda p: p[2] not in temporaries)
    found = [a for mine, theirs, _ in pairs for a in _at(mine, theirs, group.loop)]
    if len(part[0].index) == len(other[0].index):
        found += _at(part[0].index, other[0].index, group.loop)
    return found


def _with_inlined(producer: Stage, s: Stage | Routine) -> Stage | Routine:
    """Substitute the value of one stage into another. Errors: E-SCHEDULE-MOVE."""
    t = producer.target
    if t not in s.read_tensors:
        return s
    require_legal(not isinstance(s, Routine), f"a routine reads {t}")
    assert isinstance(s, Stage)
    require_legal(
        all(f.tensor != t for f in fetches(s.value)), f"{s.target} reads {t} at computed indices"
    )
    n_reads = sum(isinstance(p, Read) and p.tensor == t for p in walk(s.value))
    n_parts = sum(1 for _ in walk(s.value)) + n_reads * sum(1 for _ in walk(producer.value))
    require_legal(
        n_parts <= MOST_OPERATIONS,
        f"{s.target} would have {n_parts:,} operations, but the limit is {MOST_OPERATIONS:,}",
    )
    return into_consumer(producer, s)
