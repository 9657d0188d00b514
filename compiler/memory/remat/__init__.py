"""Rematerialisation: recomputing values instead of keeping them, which trades time for memory."""

from compiler.memory.remat.cheapest import cheapest, least
from compiler.memory.remat.greedy import recompute, squeezed
from compiler.memory.remat.repeated import Repeated

__all__ = ["Repeated", "cheapest", "least", "recompute", "squeezed"]
