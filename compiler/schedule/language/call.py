"""Calls of moves (name, arguments, reason), and the lines of a schedule that contain them."""

from __future__ import annotations

from dataclasses import field

from compiler.dataclass import dataclass
from compiler.errors import Where

Argument = str | int


@dataclass(frozen=True, slots=True)
class Call:
    """A move with its arguments and its reason in words (`because`, "" for none)."""

    move: str
    arguments: tuple[Argument, ...]
    because: str = ""

    def __str__(self) -> str:
        reason = f' because "{self.because}"' if self.because else ""
        return f"{self.move}({', '.join(map(str, self.arguments))}){reason}"


@dataclass(frozen=True, slots=True)
class Line:
    """A call of a move on one nest; the nest has the name of the tensor that it stores.

    The second nest that stores the tensor `Y` is `Y#2`. `where` is the position in the source text.
    """

    nest: str
    call: Call
    where: Where = field(default=Where(), compare=False)

    def __str__(self) -> str:
        return f"{self.nest}: {self.call}"


def text_of(lines: tuple[Line, ...]) -> str:
    """Print a schedule; `parse_schedule` reads the text back."""
    return "".join(f"{line}\n" for line in lines)
