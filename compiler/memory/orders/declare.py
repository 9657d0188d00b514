"""How a way to find an order is declared: its name, its words, and an example that is run."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from compiler.dataclass import dataclass
from compiler.memory.orders.tasks import Tasks

Find = Callable[[Tasks], list[int]]
"""Gives the tasks in an order in which each stands behind those that it waits for."""


@dataclass(frozen=True, slots=True)
class OrderMethod:
    """A way to find an order. `words` is its docstring, `example` tasks and their peak in bytes."""

    name: str
    find: Find
    example: tuple[Tasks, int]

    @property
    def title(self) -> str:
        """The first sentence of its words."""
        return self.words.partition("\n")[0].partition(".")[0]

    @property
    def words(self) -> str:
        """What it does, as the page shows it."""
        assert self.find.__doc__, f"order method {self.name} has no words"
        return inspect.cleandoc(self.find.__doc__)


METHODS: dict[str, OrderMethod] = {}
"""All ways to find an order, by name."""


def order_method(name: str, *, example: tuple[Tasks, int]) -> Callable[[Find], Find]:
    """Declare a way to find an order."""

    def declare(find: Find) -> Find:
        assert name not in METHODS, f"order method {name} is declared twice"
        METHODS[name] = OrderMethod(name, find, example)
        return find

    return declare
