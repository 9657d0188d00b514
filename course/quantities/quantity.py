"""The declaration of quantities, and the table of all quantities.

A declaration is a function from a subject to a number; its docstring describes the quantity.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Literal

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.figures.figure import Unit
from course.quantities.amount import Amount
from course.quantities.subject import Subject

Needs = Literal["graph", "devices", "numbers", "code", "compiling", "time"]
"""What a quantity needs.

- "graph": the graph alone
- "devices": the devices of a platform; `devices.py` declares these quantities
- "numbers": an evaluation by the reference on random inputs
- "code": machine code for the fixed target
- "compiling": timed compilations (`compile_times.py`)
- "time": timed runs
"""


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """A quantity: name, unit, description, what it needs, and its function of a subject."""

    name: str
    unit: Unit
    words: str
    needs: Needs
    compute: Callable[[Subject], float]

    @property
    def is_timed(self) -> bool:
        """Whether the quantity is a measured time."""
        return self.needs in ("compiling", "time")

    @property
    def is_counted(self) -> bool:
        """Whether the quantity follows from the graph alone, so that a page can count it."""
        return self.needs == "graph"

    def of(self, subject: Subject) -> Amount:
        """Return the quantity of a graph. Timed quantities need `measured`."""
        return Amount(self.compute(subject), self.unit)


QUANTITIES: dict[str, Quantity] = {}


def quantity(
    unit: Unit, needs: Needs = "graph"
) -> Callable[[Callable[[Subject], float]], Callable[[Subject], float]]:
    """Declare a function from a subject to a number as the quantity named after it."""

    def declare(fn: Callable[[Subject], float]) -> Callable[[Subject], float]:
        words = inspect.getdoc(fn) or ""
        QUANTITIES[fn.__name__] = Quantity(fn.__name__, unit, words, needs, fn)
        return fn

    return declare


def quantity_named(name: str) -> Quantity:
    """Return a quantity by name. Errors: E-LESSON-BLOCK."""
    if name not in QUANTITIES:
        message = f"no quantity is named {name!r:.40}; quantities: {', '.join(QUANTITIES)}"
        raise CompileError("E-LESSON-BLOCK", message)
    return QUANTITIES[name]


def counted(subject: Subject) -> dict[str, Amount]:
    """Return by name all quantities that follow from the graph alone."""
    return {q.name: q.of(subject) for q in QUANTITIES.values() if q.is_counted}
