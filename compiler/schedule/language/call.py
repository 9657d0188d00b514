"""A move as it is made: its name with arguments, and why; and the line of text that asks for it."""

from __future__ import annotations

from dataclasses import field

from compiler.dataclass import dataclass
from compiler.errors import Where

Argument = str | int


@dataclass(frozen=True, slots=True)
class Call:
    """A move with its arguments; `because` is why it was made, in words ("" when nobody says)."""

    move: str
    arguments: tuple[Argument, ...]
    because: str = ""

    def __str__(self) -> str:
        reason = f' because "{self.because}"' if self.because else ""
        return f"{self.move}({', '.join(map(str, self.arguments))}){reason}"


@dataclass(frozen=True, slots=True)
class Line:
    """A call on one nest, which goes by the name of what it computes.

    The second nest that fills a target is `Y#2`. `where` is the place in the text it was read from.
    """

    nest: str
    call: Call
    where: Where = field(default=Where(), compare=False)

    def __str__(self) -> str:
        return f"{self.nest}: {self.call}"


def text_of(lines: tuple[Line, ...]) -> str:
    """The text form of a schedule; `parse_schedule` reads it back."""
    return "".join(f"{line}\n" for line in lines)
