"""Rematerialisation trades time for memory: values are recomputed instead of kept."""

from compiler.memory.remat.cheapest import cheapest, least
from compiler.memory.remat.greedy import recompute, squeezed
from compiler.memory.remat.repeated import Repeated

__all__ = ["Repeated", "cheapest", "least", "recompute", "squeezed"]
