"""Schedulers of devices in student code: a function from a problem to a placement."""

from __future__ import annotations

from compiler.place.placement import Placement, Slot
from compiler.place.problem import Problem
from compiler.place.timeline import Timeline

__all__ = ["Placement", "Problem", "Slot", "Timeline"]
