"""The parser of RE2's regular expressions, the syntax of ONNX's RegexFullMatch.

The syntax excludes backreferences and lookaround, which cannot be matched in linear time.
Source: github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NoReturn

from compiler.dataclass import dataclass
from compiler.errors import CompileError

MOST_REPEATS = 1000
"""The largest repetition count in braces, as in RE2."""

DEEPEST = 100
"""The maximum nesting depth of groups."""


@dataclass(frozen=True, slots=True)
class Characters:
    """A syntax tree node that matches one character of a set."""

    accepts: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Concatenation:
    """A concatenation of subexpressions."""

    parts: Sequence[Tree]


@dataclass(frozen=True, slots=True)
class Choice:
    """An alternation of subexpressions."""

    parts: Sequence[Tree]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A repetition of a subexpression, `least` to `most` times; None means unbounded."""

    part: Tree
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Assertion:
    """A zero-width assertion: `^`, `$` (multi-line: `m^`, `m$`), `b` and `B` (word boundaries)."""

    kind: str


Tree = Characters | Concatenation | Choice | Repeat | Assertion


@dataclass(frozen=True, slots=True)
class _Flags:
    ignore_case: bool = False
    multiline: bool = False
    dot_all: bool = False


def parse_regex(pattern: str) -> Tree:
    """Parse a pattern. Errors: E-RUN-OPERATOR, with the position."""
    reader = _Reader(pattern)
    tree = reader.choice(_Flags(), 0)
    if reader.at < len(pattern):
        reader.fail("an unmatched )")
    return tree


class _Reader:
    """A recursive descent parser."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def fail(self, what: str) -> NoReturn:
        raise CompileError(
            "E-RUN-OPERATOR",
            f"the pattern {self.text:.40} has {what} at character {self.at + 1}",
            hint="patterns follow RE2, without backreferences and lookaround",
        )

    def took(self, word: str) -> bool:
        if self.text.startswith(word, self.at):
            self.at += len(word)
            return True
        return False

    def next(self, what: str) -> str:
        if self.at >= len(self.text):
            self.fail(f"an end instead of {what}")
        self.at += 1
        return self.text[self.at - 1]

    def choice(self, flags: _Flags, depth: int) -> Tree:
        """Parse the alternatives of a group, up to the end of the group."""
        if depth > DEEPEST:
            self.fail(f"groups nested more than {DEEPEST} deep")
        parts: list[Tree] = []
        while True:
            part, flags = self.sequence(flags, depth)
            parts.append(part)
            if not self.took("|"):
                return parts[0] if len(parts) == 1 else Choice(parts)

    def sequence(self, flags: _Flags, depth: int) -> tuple[Tree, _Flags]:
        """Parse subexpressions up to the next alternative; also return the flags after them."""
        parts: list[Tree] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            if self.took(r"\Q"):
                end = self.text.find(r"\E", self.at)
                end = len(self.text) if end < 0 else end
                quoted = [_one(c, flags) for c in self.text[self.at : end]]
                self.at = end + 2 if end < len(self.text) else end
                parts += [*quoted[:-1], *map(self.repeated, quoted[-1:])]
                continue
            part, flags = self.atom(flags, depth)
            if part is not None:
                parts.append(self.repeated(part))
        return Concatenation(parts), flags

    def repeated(self, part: Tree) -> Tree:
        n_operators = 0
        while True:
            start = self.at
            if self.took("*"):
                part = Repeat(part, 0, None)
            elif self.took("+"):
                part = Repeat(part, 1, None)
            elif self.took("?"):
                part = Repeat(part, 0, 1)
            elif self.took("{"):
                counts = self.counts()
                if counts is None:
                    self.at = start
                    return part
                part = Repeat(part, *counts)
            else:
                return part
            self.took("?")  # laziness does not affect full matches
            n_operators += 1
            if n_operators > DEEPEST:
                self.fail("too many repetitions of a repetition")

    def counts(self) -> tuple[int, int | None] | None:
        """Parse repetition counts after an opening brace; return None if the brace is a literal."""
        end = self.text.find("}", self.at)
        inside = self.text[self.at : end] if 0 <= end < self.at + 12 else ""
        least, comma, most = inside.partition(",")
        if not least.isascii() or not least.isdigit() or not (most.isdigit() or not most):
            return None
        self.at = end + 1
        low = int(least)
        high = (int(most) if most else None) if comma else low
        if low > MOST_REPEATS or (high is not None and not low <= high <= MOST_REPEATS):
            self.fail(f"a count that is not between 0 and {MOST_REPEATS}")
        return low, high

    def atom(self, flags: _Flags, depth: int) -> tuple[Tree | None, _Flags]:
        c = self.next("a character")
        match c:
            case "(":
                return self.group(flags, depth)
            case "[":
                return self.bracket(flags), flags
            case ".":
                accepts = _anything if flags.dot_all else _no_newline
                return Characters(accepts), flags
            case "^":
                return Assertion("m^" if flags.multiline else "^"), flags
            case "$":
                return Assertion("m$" if flags.multiline else "$"), flags
            case "*" | "+" | "?":
                self.fail(f"a {c} that repeats nothing")
            case "\\":
                return self.escape(flags), flags
            case _:
                return _one(c, flags), flags

    def group(self, flags: _Flags, depth: int) -> tuple[Tree | None, _Flags]:
        inner = flags
        if self.took("?"):
            if self.took("P<") or (self.text[self.at : self.at + 1] == "<" and self.took("<")):
                if self.text[self.at : self.at + 1] in ("=", "!"):
                    self.fail("a lookbehind")
                while self.next("the end of a name") != ">":
                    pass
            else:
                inner = self.flags(flags)
                if self.took(")"):
                    return None, inner
                if not self.took(":"):
                    self.fail("an unknown kind of group")
        part = self.choice(inner, depth + 1)
        if not self.took(")"):
            self.fail("a group without an end")
        return part, flags

    def flags(self, flags: _Flags) -> _Flags:
        value = True
        while self.text[self.at : self.at + 1] not in (":", ")"):
            c = self.next("a flag")
            match c:
                case "-":
                    value = False
                case "i":
                    flags = replace(flags, ignore_case=value)
                case "m":
                    flags = replace(flags, multiline=value)
                case "s":
                    flags = replace(flags, dot_all=value)
                case "U":
                    pass  # laziness does not affect full matches
                case _:
                    self.fail(f"an unknown flag or group {c!r}")
        return flags

    def escape(self, flags: _Flags) -> Tree:
        c = self.next("an escaped character")
        if c in "AzbB":
            return Assertion({"A": "^", "z": "$"}.get(c, c))
        found = self.class_of(c)
        if found is not None:
            return Characters(found)
        return _one(self.escaped(c), flags)

    def class_of(self, c: str) -> Callable[[str], bool] | None:
        """Return the character set that an escape denotes; None if it denotes one character."""
        if c.lower() in _PERL:
            inside = _PERL[c.lower()]
            return inside if c.islower() else lambda x: not inside(x)
        if c not in "pP":
            return None
        name = self.next("the name of a class")
        if name == "{":
            end = self.text.find("}", self.at)
            if end < 0:
                self.fail("a class without an end")
            name, self.at = self.text[self.at : end], end + 1
        negated = (c == "P") != name.startswith("^")
        category = name.removeprefix("^")
        if category not in _CATEGORIES:
            self.fail(f"an unknown class {name[:20]!r}")
        return lambda x: unicodedata.category(x).startswith(category) != negated

    def escaped(self, c: str) -> str:
        """Return the character that an escape denotes."""
        if c in _CONTROL:
            return _CONTROL[c]
        if c == "x":
            return self.hexadecimal()
        if c in "01234567" and (c == "0" or self.text[self.at : self.at + 1].isdigit()):
            digits = c
            while len(digits) < 3 and self.text[self.at : self.at + 1] in tuple("01234567"):
                digits += self.next("a digit")
            return chr(int(digits, 8))
        if c.isascii() and (c.isalnum() or c == "_"):
            self.fail(f"an escape \\{c} that RE2 does not have")
        return c

    def hexadecimal(self) -> str:
        if self.took("{"):
            end = self.text.find("}", self.at)
            digits, self.at = self.text[self.at : max(end, self.at)], end + 1
        else:
            digits, self.at = self.text[self.at : self.at + 2], self.at + 2
        try:
            return chr(int(digits, 16))
        except (ValueError, OverflowError):
            self.fail("a number that is not a character code")

    def bracket(self, flags: _Flags) -> Tree:
        negated = self.took("^")
        ranges: list[tuple[str, str]] = []
        classes: list[Callable[[str], bool]] = []
        first = True
        while first or not self.took("]"):
            first = False
            start = self.member(classes)
            if start is None:
                continue
            end = start
            if (
                self.text[self.at : self.at + 1] == "-"
                and self.text[self.at + 1 : self.at + 2] != "]"
            ):
                self.at += 1
                end = self.member(classes) or ""
                if end < start:
                    self.fail("a range whose end precedes its start")
            ranges.append((start, end))

        def accepts(c: str) -> bool:
            cases = {c, c.lower(), c.upper()} if flags.ignore_case else (c,)
            inside = any(a <= x <= b for x in cases for a, b in ranges if len(x) == 1)
            return (inside or any(member(c) for member in classes)) != negated

        return Characters(accepts)

    def member(self, classes: list[Callable[[str], bool]]) -> str | None:
        """Parse a member of brackets: return a character, or append a class and return None."""
        if self.took("[:"):
            end = self.text.find(":]", self.at)
            name = self.text[self.at : max(end, self.at)]
            inside = _POSIX.get(name.removeprefix("^"))
            if inside is None:
                self.fail(f"an unknown class {name[:20]!r}")
            self.at = end + 2
            classes.append(inside if name[0] != "^" else lambda c: not inside(c))
            return None
        c = self.next("]")
        if c != "\\":
            return c
        c = self.next("an escaped character")
        found = self.class_of(c)
        if found is not None:
            classes.append(found)
            return None
        return self.escaped(c)


def _one(c: str, flags: _Flags) -> Tree:
    if not flags.ignore_case:
        return Characters(lambda x: x == c)
    cases = {c, c.lower(), c.upper()}
    return Characters(lambda x: x in cases)


def _anything(c: str) -> bool:
    return True


def _no_newline(c: str) -> bool:
    return c != "\n"


def is_word(c: str) -> bool:
    """Return whether a character is in `\\w`: RE2's classes contain only ASCII."""
    return c.isascii() and (c.isalnum() or c == "_")


_PERL: dict[str, Callable[[str], bool]] = {
    "d": lambda c: "0" <= c <= "9",
    "s": lambda c: c in "\t\n\f\r ",
    "w": is_word,
}
_POSIX: dict[str, Callable[[str], bool]] = {
    "alnum": lambda c: c.isascii() and c.isalnum(),
    "alpha": lambda c: c.isascii() and c.isalpha(),
    "ascii": str.isascii,
    "blank": lambda c: c in "\t ",
    "cntrl": lambda c: c < " " or c == "\x7f",
    "digit": _PERL["d"],
    "graph": lambda c: "!" <= c <= "~",
    "lower": lambda c: "a" <= c <= "z",
    "print": lambda c: " " <= c <= "~",
    "punct": lambda c: "!" <= c <= "~" and not c.isalnum(),
    "space": lambda c: c in "\t\n\v\f\r ",
    "upper": lambda c: "A" <= c <= "Z",
    "word": is_word,
    "xdigit": lambda c: c in "0123456789abcdefABCDEF",
}
_CONTROL = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_CATEGORIES = {
    *("C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn"),
    *("N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps"),
    *("S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs"),
}
