"""The parser of schedules: one move per line.

    // rows of the left operand, vectors of the right one
    Y: split(n, 32, no, nm)
    Y: reorder(no, m, k, nm) because "the sums of a row stay in registers"

A line consists of a nest's target, a move with its arguments, and optionally a reason.
`//` begins a comment; blank lines are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from compiler.errors import CompileError, Where
from compiler.schedule.language.call import Argument, Call, Line
from compiler.schedule.language.move import MOVES, Kind, Move

MOST_CHARACTERS = 200_000
MOST_LINES = 2_000
"""The maximum number of moves of a schedule: replay of a longer schedule would block a server."""

_NEST = re.compile(r"[A-Za-z_][\w.']*(?:#\d+)?", re.ASCII)
_WORD = re.compile(r"[A-Za-z_][\w.']*", re.ASCII)
_NUMBER = re.compile(r"\d{1,18}(?![\w.])", re.ASCII)
_REASON = re.compile(r'"[^"\n]*"')
_SPACE = re.compile(r"[ \t]*")


def parse_schedule(text: str, source: str = "schedule", first_line: int = 1) -> tuple[Line, ...]:
    """Parse a schedule; errors name `source`, and count lines from `first_line`.

    Errors: E-SCHEDULE-TEXT with line and column.
    """
    if len(text) > MOST_CHARACTERS:
        where = Where(source=source, line=first_line, column=1, length=1)
        message = f"a schedule has at most {MOST_CHARACTERS:,} characters"
        raise CompileError("E-SCHEDULE-TEXT", message, where=where)
    found: list[Line] = []
    for number, line in enumerate(text.split("\n"), first_line):
        reader = _Reader(line.rstrip("\r"), source, number)
        if not reader.is_blank:
            found.append(reader.line())
        if len(found) > MOST_LINES:
            raise reader.fail(f"a schedule has at most {MOST_LINES:,} moves", 0)
    return tuple(found)


class _Reader:
    """The parser of one line, at a position in the line."""

    def __init__(self, text: str, source: str, number: int) -> None:
        self.text, self.source, self.number = text, source, number
        self.at = 0
        self._skip()

    @property
    def is_blank(self) -> bool:
        """Return whether only a comment, or nothing, remains."""
        return self.at == len(self.text) or self.text.startswith("//", self.at)

    def line(self) -> Line:
        """Parse the whole line."""
        where = self._where(self.at, len(self.text.rstrip()) - self.at)
        nest = self._take(_NEST, "the name of a nest, as in `Y: split(i, 16)`")
        self._expect(":")
        start = self.at
        name = self._take(_WORD, "a move")
        self._expect("(")
        arguments: list[Argument] = []
        places: list[int] = []
        while not self._is_next(")"):
            if arguments:
                self._expect(",")
            places.append(self.at)
            arguments.append(self._argument())
        self._expect(")")
        self._check(name, arguments, start, places)
        because = ""
        if _taken_word(self.text, self.at) == "because":
            self.at += len("because")
            self._skip()
            because = self._take(_REASON, 'a reason in quotes: because "..."')[1:-1]
        if not self.is_blank:
            raise self.fail(f"needed the end of the line, got {self.text[self.at :][:30]!r}")
        return Line(nest, Call(name, tuple(arguments), because), where)

    def fail(self, message: str, at: int | None = None, hint: str = "") -> CompileError:
        """Return an error at a position of the line."""
        place = self._where(self.at if at is None else at, 1)
        return CompileError("E-SCHEDULE-TEXT", message, where=place, hint=hint)

    def _where(self, at: int, length: int) -> Where:
        return Where(source=self.source, line=self.number, column=at + 1, length=max(length, 1))

    def _skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _is_next(self, token: str) -> bool:
        return self.text.startswith(token, self.at)

    def _expect(self, token: str) -> None:
        if not self._is_next(token):
            raise self.fail(f"needed {token!r}, got {self.text[self.at :][:30]!r}")
        self.at += len(token)
        self._skip()

    def _take(self, pattern: re.Pattern[str], needed: str) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise self.fail(f"needed {needed}, got {self.text[self.at :][:30]!r}")
        self.at = found.end()
        self._skip()
        return found.group()

    def _argument(self) -> Argument:
        if _NUMBER.match(self.text, self.at):
            return int(self._take(_NUMBER, "a number"))
        return self._take(_WORD, "a name or a whole number")

    def _check(self, name: str, arguments: list[Argument], at: int, places: list[int]) -> None:
        """Check that the move exists and accepts the arguments. Errors: E-SCHEDULE-TEXT."""
        declared = MOVES.get(name)
        if declared is None:
            hint = f"the moves are {', '.join(MOVES)}"
            raise self.fail(f"there is no move {name!r}{did_you_mean(name, MOVES)}", at, hint)
        least = sum(p.default is None and not p.is_rest for p in declared.parameters)
        most = len(declared.parameters)
        any_number = bool(declared.parameters) and declared.parameters[-1].is_rest
        if len(arguments) < max(least, any_number) or (len(arguments) > most and not any_number):
            raise self.fail(
                f"{name} got {len(arguments)} arguments",
                at,
                f"the signature is {declared.signature}",
            )
        for (parameter, value), place in zip(_bound(declared, arguments), places, strict=True):
            if parameter.is_number != isinstance(value, int):
                raise self.fail(
                    f"needed {parameter.words}, got {value!r}",
                    place,
                    f"the signature is {declared.signature}",
                )
            if value == 0:
                raise self.fail(f"needed {parameter.words}, got 0", place)


def _bound(declared: Move, arguments: list[Argument]) -> Iterator[tuple[Kind, Argument]]:
    """Pair each argument with its required kind."""
    kinds = [p.kind for p in declared.parameters]
    for position, value in enumerate(arguments):
        yield kinds[min(position, len(kinds) - 1)], value


def _taken_word(text: str, at: int) -> str:
    found = _WORD.match(text, at)
    return found.group() if found else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `: did you mean ...?` for a similar known name, else ""."""
    close = get_close_matches(name, list(known), 1)
    return f": did you mean {close[0]!r}?" if close else ""
