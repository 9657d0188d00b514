"""The tree of stages and shared loops of a kernel, before any move on a nest.

    TOP, E, TOTAL, Y       for i { TOP; E; TOTAL; Y }       for i { TOP; for j by 48 { E; Y } }

The leaves of the tree are future nests (stages fused over the same loops) and routines, in
execution order. A group is a loop that several leaves share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compiler.compute.computation import Routine
from compiler.dataclass import dataclass
from compiler.ir.affine import Expr
from compiler.schedule.stages.joining import FusedStages

Part = FusedStages | Routine


@dataclass(frozen=True, slots=True)
class Group:
    """A loop over an axis, and the members in its body; an iteration computes `places` positions.

    `own` maps the name of each nest in the body to the nest's name for the axis. The loop belongs
    to the last nest, which reads the results of the other nests.
    """

    members: tuple[Member, ...]
    own: Mapping[str, str]
    places: int

    @property
    def nests(self) -> tuple[FusedStages, ...]:
        """The nests inside, in execution order."""
        return tuple(p for p in leaves(self.members) if not isinstance(p, Routine))

    @property
    def consumer(self) -> FusedStages:
        """The last nest, to which the loop belongs."""
        return self.nests[-1]

    @property
    def loop(self) -> str:
        """The consumer's name for the axis."""
        return self.own[name_of(self.consumer)]

    @property
    def extent(self) -> Expr:
        """The number of positions along the axis."""
        return self.consumer[0].extents[self.loop]

    def over(self, nests: Sequence[FusedStages]) -> Group:
        """Replace the nests of the group, in the same order."""
        return self._with(iter(nests))

    def _with(self, nests: Iterator[FusedStages]) -> Group:
        made = tuple(m._with(nests) if isinstance(m, Group) else next(nests) for m in self.members)
        return Group(made, self.own, self.places)


Member = FusedStages | Routine | Group


def leaves(members: Sequence[Member]) -> Iterator[Part]:
    """Yield nests and routines in execution order."""
    for m in members:
        if isinstance(m, Group):
            yield from leaves(m.members)
        else:
            yield m


def name_of(part: FusedStages) -> str:
    """Return the name of a nest that is the only writer of its target."""
    return part[0].target


def named(members: Sequence[Member]) -> dict[str, FusedStages]:
    """Map names in schedules to nests; the second writer of Y is `Y#2`."""
    found: dict[str, FusedStages] = {}
    counts: dict[str, int] = {}
    for part in leaves(members):
        if not isinstance(part, Routine):
            target = part[0].target
            n = counts[target] = counts.get(target, 0) + 1
            found[target if n == 1 else f"{target}#{n}"] = part
    return found


def stored(parts: Sequence[Part]) -> set[str]:
    """Return the tensors that parts store."""
    every = (p.stored_tensors if isinstance(p, Routine) else {s.target for s in p} for p in parts)
    return {t for made in every for t in made}


def touched(parts: Sequence[Part]) -> set[str]:
    """Return the tensors that parts read or store."""
    return stored(parts) | read(parts)


def read(parts: Sequence[Part]) -> set[str]:
    """Return the tensors that parts read."""
    found: set[str] = set()
    for p in parts:
        for s in (p,) if isinstance(p, Routine) else p:
            found |= s.read_tensors
    return found
