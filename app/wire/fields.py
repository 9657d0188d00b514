"""Checks of request fields: every error is a CompileError that names the field."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from compiler.errors import CompileError

MOST_SEED = 2**32 - 1
N_KERNELS = 1_000_000


@dataclass(frozen=True, slots=True)
class Check:
    """The valid values of a field: a description, a test, and a conversion."""

    words: str
    fits: Callable[[Any], bool]
    taken: Callable[[Any], Any] = lambda value: value

    def of(self, name: str, value: Any) -> Any:
        """Return the converted value of the field if it is valid. Errors: E-REQUEST-BODY."""
        if not self.fits(value):
            raise needed(name, self.words, value)
        return self.taken(value)


FLAG = Check("true or false", lambda value: type(value) is bool)


def whole(low: int, high: int) -> Check:
    """Return a check for an integer in a range; true and false are not integers."""
    words = f"a number from {low} to {high}"
    return Check(words, lambda value: type(value) is int and low <= value <= high)


def number(low: float, high: float) -> Check:
    """Return a check for a number in a range."""
    words = f"a number from {low:g} to {high:g}"
    return Check(words, lambda value: type(value) in (int, float) and low <= value <= high, float)


def choice(known: Collection[str]) -> Check:
    """Return a check for one of the known names."""
    words = f"one of {', '.join(known)}"
    return Check(words, lambda value: isinstance(value, str) and value in known)


def text(limit: int) -> Check:
    """Return a check for a text of at most `limit` characters."""
    words = f"a text of at most {limit:,} characters"
    return Check(words, lambda value: isinstance(value, str) and len(value) <= limit)


def or_null(check: Check) -> Check:
    """Return a check that accepts null, and the values that another check accepts."""
    return Check(
        f"null or {check.words}",
        lambda value: value is None or check.fits(value),
        lambda value: None if value is None else check.taken(value),
    )


def fields_of(value: Any, name: str, allowed: Collection[str] | None) -> dict[str, Any]:
    """Return an object's fields if all are allowed; None for `allowed` permits any field. Errors:
    E-REQUEST-BODY."""
    if not isinstance(value, dict):
        raise needed(name, "an object", value)
    for key in value:
        if allowed is not None and key not in allowed:
            raise needed(name, f"only the fields {', '.join(sorted(allowed))}", key)
    return value


def whole_number(text: str | None, name: str, default: int, low: int, high: int) -> int:
    """Parse an integer in a URL. Errors: E-REQUEST-BODY."""
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 12 and low <= int(text) <= high):
        raise needed(name, f"a whole number from {low} to {high}", text)
    return int(text)


def needed(name: str, words: str, got: Any) -> CompileError:
    """Return the error for a field with an invalid value."""
    return CompileError("E-REQUEST-BODY", f"{name}: needed {words}, got {got!r:.80}")
