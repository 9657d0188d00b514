"""Full matches of regular expressions in linear time.

A regular expression becomes an NFA. The simulation uses sets of NFA states and caches them as the
states of a lazily built DFA.
Source: Thompson 1968, "Regular expression search algorithm"; Cox 2007, swtch.com/~rsc/regexp.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.operator import Array
from compiler.limits import check
from compiler.ops.text.regex_syntax import (
    Assertion,
    Characters,
    Choice,
    Concatenation,
    Repeat,
    Tree,
    is_word,
    parse_regex,
)

MOST_STATES = 10_000
"""The maximum number of states of an automaton; repetition counts multiply the number of states."""

MOST_KEPT = 10_000
"""The maximum number of cached transitions; when it is reached, the cache is cleared."""

CHECK_EVERY = 1024
"""The number of characters matched between two checks of the time limit."""


def full_matches(pattern: str, texts: Any) -> Array:
    """Return, for each text, whether the entire text matches. Errors: E-RUN-OPERATOR."""
    automaton = automaton_of(pattern)
    array = np.asarray(texts)
    found = [automaton.matches(_text(t)) for t in array.reshape(-1)]
    return np.array(found, np.bool_).reshape(array.shape)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


@lru_cache(maxsize=64)
def automaton_of(pattern: str) -> Automaton:
    """Compile a regular expression to an automaton. Errors: E-RUN-OPERATOR."""
    return Automaton(parse_regex(pattern))


@dataclass(frozen=True, slots=True)
class _State:
    """A state: a transition on an accepted character, or epsilon if `accepts` is None."""

    accepts: Callable[[str], bool] | None
    assertion: str
    following: list[int]


States = frozenset[int]


class Automaton:
    """An NFA with numbered states; state 0 is accepting.

    The automaton is thread-safe: cached transitions never change.
    """

    def __init__(self, tree: Tree) -> None:
        self.states: list[_State] = [_State(None, "", [])]
        self.start = frozenset([self._add(tree, 0)])
        self.moves: dict[tuple[States, str, str], States] = {}

    def matches(self, text: str) -> bool:
        """Return whether the entire text matches the regular expression."""
        at, before = self.start, ""
        for n, c in enumerate(text):
            if n % CHECK_EVERY == 0:
                check("matching a regular expression")
            found = self.moves.get((at, before, c))
            if found is None:
                found = self._move(at, before, c)
                if len(self.moves) >= MOST_KEPT:
                    self.moves = {}
                self.moves[at, before, c] = found
            if not found:
                return False
            at, before = found, _kind(c)
        return 0 in self._reached(at, before, "")

    def _move(self, at: States, before: str, c: str) -> States:
        reached = (self.states[s] for s in self._reached(at, before, c))
        return frozenset(s.following[0] for s in reached if s.accepts is not None and s.accepts(c))

    def _reached(self, at: States, before: str, c: str) -> set[int]:
        """Return the epsilon closure of states, given the adjacent characters for assertions."""
        after = _kind(c) if c else ""
        seen, pending = set(at), list(at)
        while pending:
            state = self.states[pending.pop()]
            if state.accepts is None and _holds(state.assertion, before, after):
                new = [s for s in state.following if s not in seen]
                seen.update(new)
                pending += new
        return seen

    def _new(
        self,
        following: list[int],
        accepts: Callable[[str], bool] | None = None,
        assertion: str = "",
    ) -> int:
        if len(self.states) >= MOST_STATES:
            raise CompileError(
                "E-RUN-OPERATOR",
                f"the regular expression has more than {MOST_STATES:,} states",
                hint="use smaller repetition counts",
            )
        self.states.append(_State(accepts, assertion, following))
        return len(self.states) - 1

    def _add(self, tree: Tree, then: int) -> int:
        """Add the states that match a syntax tree followed by state `then`; return the first."""
        match tree:
            case Characters(accepts):
                return self._new([then], accepts)
            case Assertion(kind):
                return self._new([then], None, kind)
            case Concatenation(parts):
                for part in reversed(parts):
                    then = self._add(part, then)
                return then
            case Choice(parts):
                return self._new([self._add(part, then) for part in parts])
            case Repeat(part, least, most):
                return self._repeat(part, least, most, then)

    def _repeat(self, part: Tree, least: int, most: int | None, then: int) -> int:
        if most is None:
            again = self._new([then])
            self.states[again].following.append(self._add(part, again))
            then = again
        else:
            end = then
            for _ in range(most - least):
                then = self._new([self._add(part, then), end])
        for _ in range(least):
            then = self._add(part, then)
        return then


def _kind(c: str) -> str:
    """Classify a character for assertions: word character, line end, or other."""
    return "\n" if c == "\n" else "w" if is_word(c) else "-"


def _holds(assertion: str, before: str, after: str) -> bool:
    """Return whether an assertion is true between characters of two kinds ("" for no character)."""
    match assertion:
        case "^":
            return not before
        case "$":
            return not after
        case "m^":
            return before in ("", "\n")
        case "m$":
            return after in ("", "\n")
        case "b":
            return (before == "w") != (after == "w")
        case "B":
            return (before == "w") == (after == "w")
        case _:
            return True
