"""Which stages of a kernel run inside which loops: a tree, before any nest has been shaped.

    TOP, E, TOTAL, Y       for i { TOP; E; TOTAL; Y }       for i { TOP; for j by 48 { E; Y } }

Its leaves are nests to be (stages joined over the same loops) and routines, in the order in which
they run. A group is a loop that several of them share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compiler.compute.computation import Routine
from compiler.dataclass import dataclass
from compiler.ir.affine import Expr
from compiler.schedule.stages.joining import Joint

Part = Joint | Routine


@dataclass(frozen=True, slots=True)
class Group:
    """A loop over the places of an axis, so many an iteration, and what runs inside it.

    `own` is what each nest inside calls the axis, by what it computes. The last nest is the one
    whose loop it is: what the others make is read there.
    """

    members: tuple[Member, ...]
    own: Mapping[str, str]
    places: int

    @property
    def joints(self) -> tuple[Joint, ...]:
        """The nests inside, in order."""
        return tuple(p for p in leaves(self.members) if not isinstance(p, Routine))

    @property
    def consumer(self) -> Joint:
        """The nest whose loop it is."""
        return self.joints[-1]

    @property
    def loop(self) -> str:
        """What that nest calls the axis."""
        return self.own[name_of(self.consumer)]

    @property
    def extent(self) -> Expr:
        """How many places there are."""
        return self.consumer[0].extents[self.loop]

    def over(self, joints: Sequence[Joint]) -> Group:
        """The group with other nests in place of its own, in the same order."""
        return self._with(iter(joints))

    def _with(self, joints: Iterator[Joint]) -> Group:
        made = tuple(
            m._with(joints) if isinstance(m, Group) else next(joints) for m in self.members
        )
        return Group(made, self.own, self.places)


Member = Joint | Routine | Group


def leaves(members: Sequence[Member]) -> Iterator[Part]:
    """Nests and routines in the order in which they run."""
    for m in members:
        if isinstance(m, Group):
            yield from leaves(m.members)
        else:
            yield m


def name_of(part: Joint) -> str:
    """What a nest that alone fills its target is called."""
    return part[0].target


def named(members: Sequence[Member]) -> dict[str, Joint]:
    """The nests by the names that a schedule gives them: the second that fills Y is `Y#2`."""
    found: dict[str, Joint] = {}
    counts: dict[str, int] = {}
    for part in leaves(members):
        if not isinstance(part, Routine):
            target = part[0].target
            n = counts[target] = counts.get(target, 0) + 1
            found[target if n == 1 else f"{target}#{n}"] = part
    return found


def stored(parts: Sequence[Part]) -> set[str]:
    """What parts make."""
    every = (p.stored_tensors if isinstance(p, Routine) else {s.target for s in p} for p in parts)
    return {t for made in every for t in made}


def touched(parts: Sequence[Part]) -> set[str]:
    """What parts read or make."""
    return stored(parts) | read(parts)


def read(parts: Sequence[Part]) -> set[str]:
    """What parts read."""
    found: set[str] = set()
    for p in parts:
        for s in (p,) if isinstance(p, Routine) else p:
            found |= s.read_tensors
    return found
