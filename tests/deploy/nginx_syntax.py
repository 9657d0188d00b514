"""A reader of nginx's configuration: directives with their words and blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_TOKEN = re.compile(r"""\s+|\#[^\n]*|"((?:[^"\\]|\\.)*)"|([;{}])|([^\s;{}"\#][^\s;{}]*)""")


@dataclass(frozen=True)
class Directive:
    """A directive, with the directives of its block."""

    name: str
    words: Sequence[str]
    block: Sequence[Directive] = field(default=())

    def all(self, name: str) -> list[Directive]:
        """Return the directives of this name in the block."""
        return [each for each in self.block if each.name == name]

    def one(self, name: str) -> Sequence[str]:
        """Return the words of the only directive of this name in the block."""
        (found,) = self.all(name)
        return found.words


def read(text: str) -> Directive:
    """Return the file as a directive without a name. Errors: ValueError."""
    tokens = list(_tokens(text))
    block, end = _block(tokens, 0)
    if end != len(tokens):
        raise ValueError("a block ends that has not begun")
    return Directive("", (), block)


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Yield words and signs; True for a sign."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"no token: {text[at : at + 40]!r}")
        at = found.end()
        quoted, sign, word = found.groups()
        if sign:
            yield sign, True
        elif quoted is not None or word:
            yield quoted if quoted is not None else word, False


def _block(tokens: Sequence[tuple[str, bool]], at: int) -> tuple[list[Directive], int]:
    found: list[Directive] = []
    words: list[str] = []
    while at < len(tokens):
        token, is_sign = tokens[at]
        at += 1
        if not is_sign:
            words.append(token)
        elif token == "}":
            if words:
                raise ValueError(f"a semicolon is missing after {words}")
            return found, at - 1
        else:
            if not words:
                raise ValueError(f"{token} without a directive")
            block: list[Directive] = []
            if token == "{":
                block, at = _block(tokens, at)
                if at == len(tokens):
                    raise ValueError(f"the block of {words} does not end")
                at += 1
            found.append(Directive(words[0], tuple(words[1:]), tuple(block)))
            words = []
    if words:
        raise ValueError(f"a semicolon is missing after {words}")
    return found, at
