"""Values computed again where they are needed, so that they need not be kept: memory for time."""

from compiler.memory.remat.cheapest import cheapest, least
from compiler.memory.remat.greedy import recompute, squeezed
from compiler.memory.remat.repeated import Repeated

__all__ = ["Repeated", "cheapest", "least", "recompute", "squeezed"]
