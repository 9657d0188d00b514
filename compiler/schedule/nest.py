"""A loop nest under construction: its state with the moves that shape it.

A move returns a new nest and never changes what is computed; one that is not legal raises
E-SCHEDULE-MOVE with the reason. `realize.py` writes the nest out as Loop IR.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.schedule.axes import Axis, Beside, Entry, Split
from compiler.schedule.language.order import Order
from compiler.schedule.language.running import Running
from compiler.schedule.language.storage import Storage

__all__ = ["Axis", "Beside", "Entry", "Nest", "Split"]


class Nest(Order, Running, Storage):
    """One stage over physical buffers, with its loops and the moves made so far."""

    def without_halo(self) -> Nest:
        """The nest leaving the zeros round its target to an earlier one."""
        return replace(self, zero_halo=False)

    def joined(self, other: Nest) -> Nest:
        """The nest with the results of another that has the same loops, before any move."""
        return replace(self, beside=(*self.beside, *other.results))
