"""Declarations of operator families for the generator of random models.

    @family("Add", "Sub", weight=2)
    def _(d: Draft, op: str) -> None:
        '''Operands of one type whose shapes broadcast.'''
        ...

A step chooses an operator, then its operands and attributes, and adds nodes to the draft. It may
raise Dropped. Nodes that ONNX Runtime refuses are dropped too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.outside.draft import Draft

Step = Callable[[Draft, str], None]


@dataclass(frozen=True)
class Drawn:
    """An operator of the generator: its step and its weight."""

    op: str
    step: Step
    weight: float


DRAWN: dict[str, Drawn] = {}


def family(*ops: str, weight: float = 1.0) -> Callable[[Step], Step]:
    """Register a step for operators."""

    def register(step: Step) -> Step:
        for op in ops:
            assert op not in DRAWN, op
            DRAWN[op] = Drawn(op, step, weight)
        return step

    return register
