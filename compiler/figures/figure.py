"""The declaration of figures: the decorator `@figure(title, unit, *places)`.

The decorated function computes the figure.
The first paragraph of the function's docstring is the definition of the figure: one sentence. The
other paragraphs describe its computation.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from compiler.dataclass import dataclass
from compiler.units import (
    bytes_text,
    error_text,
    flops_text,
    number_text,
    percent_text,
    rate_text,
    ratio_text,
    seconds_text,
)

Unit = Literal["count", "B", "s", "flop", "flop/s", "flop/B", "share", "ratio", "error", "names"]
"""The unit of a figure; "share" is a fraction shown in percent, and "names" is not a number."""

TEXTS: Mapping[Unit, Callable[[Any], str]] = {
    "count": number_text,
    "B": bytes_text,
    "s": seconds_text,
    "flop": flops_text,
    "flop/s": rate_text,
    "flop/B": ratio_text,
    "share": percent_text,
    "ratio": ratio_text,
    "error": error_text,
    "names": str,
}

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that is shown to users.

    Each of the `places` is a group: paths in JSON that are separated by ` = ` have equal values. A
    path begins with a command (`compile.memory.peak_bytes`) or with a part of a result of the
    server (`result.memory.peak_bytes`); `[]` stands for each item of a list.
    """

    name: str
    title: str
    unit: Unit
    words: str
    method: str
    source: str
    places: tuple[str, ...]

    def text(self, value: Any) -> str:
        """Format a value of this figure with its unit; "–" if the value is unknown."""
        return "–" if value is None else TEXTS[self.unit](value)


FIGURES: dict[str, Figure] = {}
"""All declared figures by name; `listing` imports the modules that declare them."""


def figure(title: str, unit: Unit, *places: str) -> Callable[[Function], Function]:
    """Declare a figure that the decorated function computes."""

    def declare(function: Function) -> Function:
        name = function.__name__
        assert name not in FIGURES, f"two figures have the name {name}"
        words, _, method = inspect.cleandoc(function.__doc__ or "").partition("\n\n")
        source = f"{function.__module__.replace('.', '/')}.py"
        FIGURES[name] = Figure(name, title, unit, _line(words), _line(method), source, places)
        return function

    return declare


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
