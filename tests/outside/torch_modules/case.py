"""A case of the table: a torch module, its inputs, and the sizes that may be open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from zlib import crc32

import torch

SIZES = {
    "N": (2, 3),
    "C": (6, 4),
    "L": (9, 12),
    "H": (13, 16),
    "W": (11, 15),
    "D": (5, 6),
    "E": (7, 8),
}
"""Values of each open size in the first run, which are also the fixed sizes, and in the second
run."""

Draw = Callable[[torch.Generator, tuple[int, ...]], torch.Tensor]


@dataclass(frozen=True)
class Input:
    """One input: its shape, in which names are sizes that may be open, and its elements."""

    shape: tuple[int | str, ...]
    draw: Draw

    def sizes(self, run: int) -> tuple[int, ...]:
        """Return the shape in a run."""
        return tuple(SIZES[d][run] if isinstance(d, str) else d for d in self.shape)

    def tensor(self, generator: torch.Generator, run: int) -> torch.Tensor:
        """Return seeded elements for a run."""
        return self.draw(generator, self.sizes(run))


def f(*shape: int | str, scale: float = 1.0, dtype: torch.dtype = torch.float32) -> Input:
    """Return an input of normally distributed numbers."""
    return Input(shape, lambda g, s: (torch.randn(s, generator=g) * scale).to(dtype))


def unit(*shape: int | str, low: float = 0.02, high: float = 0.98) -> Input:
    """Return an input of numbers in an interval."""
    return Input(shape, lambda g, s: torch.rand(s, generator=g) * (high - low) + low)


def i(low: int, high: int, *shape: int | str, dtype: torch.dtype = torch.int64) -> Input:
    """Return an input of integers from low to high, excluding high."""
    return Input(shape, lambda g, s: torch.randint(low, high, s, generator=g).to(dtype))


def b(*shape: int | str) -> Input:
    """Return an input of Booleans."""
    return Input(shape, lambda g, s: torch.rand(s, generator=g) > 0.5)


def steps(*shape: int | str) -> Input:
    """Return an input of distinct integers as floats in random order: without ties."""

    def draw(g: torch.Generator, s: tuple[int, ...]) -> torch.Tensor:
        count = int(torch.tensor(s).prod())
        return torch.randperm(count, generator=g).reshape(s).float()

    return Input(shape, draw)


def values(*numbers: Any, dtype: torch.dtype = torch.float32) -> Input:
    """Return an input of these numbers."""
    return Input((len(numbers),), lambda g, s: torch.tensor(numbers, dtype=dtype))


class Call(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


EXPORTERS = ("torchscript", "dynamo")


@dataclass(frozen=True)
class Case:
    """A row of the table. `make` creates the module, with weights seeded by the name.

    `opset` maps exporters to opsets other than their default. `train` leaves the module in training
    mode. `exporters` are the exporters of this row.
    """

    name: str
    make: Callable[[], torch.nn.Module]
    inputs: Sequence[Input]
    opset: dict[str, int] = field(default_factory=dict[str, int])
    train: bool = False
    exporters: tuple[str, ...] = EXPORTERS
    family: str = ""

    @property
    def seed(self) -> int:
        return crc32(self.name.encode())

    @property
    def can_be_open(self) -> bool:
        """Return whether any size has a name."""
        return any(isinstance(d, str) for i in self.inputs for d in i.shape)

    def module(self) -> torch.nn.Module:
        """Return the module with seeded weights."""
        torch.manual_seed(self.seed)
        made = self.make()
        return made.train(self.train)

    def tensors(self, run: int) -> tuple[torch.Tensor, ...]:
        """Return the inputs of a run."""
        generator = torch.Generator().manual_seed(self.seed + run)
        return tuple(i.tensor(generator, run) for i in self.inputs)


def module(name: str, make: Callable[[], torch.nn.Module], *inputs: Input, **more: Any) -> Case:
    """Return a row for a module."""
    return Case(name, make, inputs, **more)


def call(name: str, function: Callable[..., Any], *inputs: Input, **more: Any) -> Case:
    """Return a row for a function."""
    return Case(name, lambda: Call(function), inputs, **more)


def in_family(family: str, cases: Sequence[Case]) -> list[Case]:
    """Return the rows with the name of their family."""
    return [replace(c, family=family) for c in cases]
