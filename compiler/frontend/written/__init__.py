"""Written models: in the text form of graphs, or in a subset of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from compiler.errors import CompileError
from compiler.frontend.written.ir import read_ir
from compiler.frontend.written.python import read_python
from compiler.frontend.written.text import PAGE_LIMITS, Line, WritingLimits, Written
from compiler.ir.graph import Graph

Reader = Callable[[str, str, WritingLimits | None], Written]

LANGUAGES: dict[str, Reader] = {"ir": read_ir, "py": read_python}
"""The languages by file extension."""

MOST_NOTES = 20
"""The maximum number of further problems in the notes of an error."""


def language_of(name: str) -> str:
    """Return the language of a file by its name; "" for a binary model."""
    ending = name.rpartition(".")[2].lower()
    return ending if "." in name and ending in LANGUAGES else ""


def is_written(model: object) -> bool:
    """Return whether a model is the path of a text, which only this compiler can read."""
    return isinstance(model, Path) and language_of(model.name) != ""


def graph_of(text: str, language: str, source: str, limits: WritingLimits | None = None) -> Graph:
    """Read a written model as a graph.

    Errors: the first problem of the text, at its position; the notes describe the other problems.
    """
    written = LANGUAGES[language](text, source, limits)
    if written.graph is None:
        raise _as_one(written.problems)
    return written.graph


def _as_one(problems: Sequence[CompileError]) -> CompileError:
    """Return the first problem, with further problems as notes."""
    first, *others = problems
    if not others:
        return first
    notes = [f"{p.where}: {p.code}: {p.message}" for p in others[:MOST_NOTES]]
    if len(others) > MOST_NOTES:
        notes.append(f"{len(others) - MOST_NOTES:,} further errors are not shown")
    notes = [*first.notes, *notes]
    return CompileError(first.code, first.message, where=first.where, notes=notes, hint=first.hint)


def decoded(data: bytes, source: str) -> str:
    """Decode the text of a file. Errors: E-TEXT-SYNTAX."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as e:
        message = f"{source} is not UTF-8 text: byte {e.start} is invalid"
        raise CompileError("E-TEXT-SYNTAX", message) from None


__all__ = [
    "LANGUAGES",
    "MOST_NOTES",
    "PAGE_LIMITS",
    "Line",
    "WritingLimits",
    "Written",
    "decoded",
    "graph_of",
    "language_of",
    "read_ir",
    "read_python",
]
