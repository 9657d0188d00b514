"""Index expressions, divided into constants, uniform scalars, and lane-varying terms."""

from __future__ import annotations

from dataclasses import field
from typing import NamedTuple

from compiler.codegen.values import Value
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Apply, Atom, Expr, Range


class Lane(NamedTuple):
    """The vector loop being emitted: the variable of lane i has the value `base` + i.

    Lanes from `active` on are inactive. `stop` is a bound known only at run time: lanes whose
    variable is not below `stop` are also inactive.
    """

    var: str
    base: int
    active: int
    lanes: int
    stop: Value | None = None

    @property
    def is_full(self) -> bool:
        """Return whether every lane is active in every execution."""
        return self.active == self.lanes and self.stop is None


@dataclass(slots=True)
class Env:
    """The values of the loop variables at the insertion point."""

    numbers: dict[str, int] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    ranges: dict[str, Range] = field(default_factory=dict)
    lane: Lane | None = None


class Resolved(NamedTuple):
    """`constant + sum(coefficient * atom) + lane_step * lane + sum(coefficient * lane atom)`.

    `atoms` have the same value in every lane; `lane_atoms` are compound expressions whose value
    differs between lanes.
    """

    constant: int
    atoms: tuple[tuple[Atom, int], ...] = ()
    lane_step: int = 0
    lane_atoms: tuple[tuple[Apply, int], ...] = ()

    @property
    def is_uniform(self) -> bool:
        """Return whether the expression has the same value in every lane."""
        return not self.lane_step and not self.lane_atoms


def flatten(index: tuple[Expr, ...], strides: tuple[Expr, ...]) -> Expr:
    """Return the simplified linear index of an element in a row-major buffer."""
    flat: Expr = 0
    for e, step in zip(index, strides, strict=True):
        flat = flat + e * step
    return affine.recombine(flat)
