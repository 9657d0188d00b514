"""Index expressions sorted into parts: numbers, scalars, and what differs from lane to lane."""

from __future__ import annotations

from dataclasses import field
from typing import NamedTuple

from compiler.codegen.values import Value
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Apply, Atom, Expr, Range


class Lane(NamedTuple):
    """The open vector loop: its variable is `base` + lane; lanes from `active` on do nothing.

    Nor do those where the variable has reached `stop`, if that is a number that only a run tells.
    """

    var: str
    base: int
    active: int
    lanes: int
    stop: Value | None = None

    @property
    def is_full(self) -> bool:
        """Whether every lane takes part, whatever a run brings."""
        return self.active == self.lanes and self.stop is None


@dataclass(slots=True)
class Env:
    """What the loop variables are at the point where code is written."""

    numbers: dict[str, int] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    ranges: dict[str, Range] = field(default_factory=dict)
    lane: Lane | None = None


class Resolved(NamedTuple):
    """`constant + sum(coefficient * atom) + lane_step * lane + sum(coefficient * lane atom)`.

    `atoms` are the same in every lane; `lane_atoms` are compound and differ.
    """

    constant: int
    atoms: tuple[tuple[Atom, int], ...] = ()
    lane_step: int = 0
    lane_atoms: tuple[tuple[Apply, int], ...] = ()

    @property
    def is_uniform(self) -> bool:
        """Whether every lane has the same value."""
        return not self.lane_step and not self.lane_atoms


def flatten(index: tuple[Expr, ...], strides: tuple[Expr, ...]) -> Expr:
    """The element number of an index in a row-major buffer, as simple as it gets."""
    flat: Expr = 0
    for e, step in zip(index, strides, strict=True):
        flat = flat + e * step
    return affine.recombine(flat)
