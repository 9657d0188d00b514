"""The declaration of order methods: name, description, and an executed example."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from compiler.dataclass import dataclass
from compiler.memory.orders.tasks import Tasks

Find = Callable[[Tasks], list[int]]
"""Function that returns the tasks in a topological order."""


@dataclass(frozen=True, slots=True)
class OrderMethod:
    """An order method; `example` has tasks and their peak in bytes after ordering."""

    name: str
    find: Find
    example: tuple[Tasks, int]

    @property
    def title(self) -> str:
        """Return the first sentence of the description."""
        return self.words.partition("\n")[0].partition(".")[0]

    @property
    def words(self) -> str:
        """Return the description, which is the docstring of the function."""
        assert self.find.__doc__, f"order method {self.name} has no docstring"
        return inspect.cleandoc(self.find.__doc__)


METHODS: dict[str, OrderMethod] = {}
"""All order methods by name."""


def order_method(name: str, *, example: tuple[Tasks, int]) -> Callable[[Find], Find]:
    """Declare an order method."""

    def declare(find: Find) -> Find:
        assert name not in METHODS, f"order method {name} is declared twice"
        METHODS[name] = OrderMethod(name, find, example)
        return find

    return declare
