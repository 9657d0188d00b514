"""A loop nest under construction: its state and its moves.

A move returns a new nest that computes the same results. An illegal move raises E-SCHEDULE-MOVE
with the reason. `realize.py` emits the nest as Loop IR.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.schedule.axes import Axis, Beside, Entry, Split
from compiler.schedule.language.order import Order
from compiler.schedule.language.running import Running
from compiler.schedule.language.storage import Storage

__all__ = ["Axis", "Beside", "Entry", "Nest", "Split"]


class Nest(Order, Running, Storage):
    """One stage over physical buffers, with its loops and the moves applied so far."""

    def without_halo(self) -> Nest:
        """Return the nest without stores to its target's halo: an earlier nest stores the halo."""
        return replace(self, zero_halo=False)

    def joined(self, other: Nest) -> Nest:
        """Add the results of another nest with the same loops; neither nest has moves yet."""
        return replace(self, beside=(*self.beside, *other.results))
