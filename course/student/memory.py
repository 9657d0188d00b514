"""Memory planners in student code: a function from a problem to an offset per block."""

from __future__ import annotations

from compiler.memory.buffer import Block, Buffer, Plan
from compiler.memory.problem import Problem

__all__ = ["Block", "Buffer", "Plan", "Problem"]
