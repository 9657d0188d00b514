"""Models as somebody writes them: in the text form of graphs, or in a small part of Python."""

from __future__ import annotations

from collections.abc import Callable

from compiler.errors import CompileError
from compiler.frontend.written.ir import read_ir
from compiler.frontend.written.python import read_python
from compiler.frontend.written.text import PAGE_LIMITS, Line, WritingLimits, Written
from compiler.ir.graph import Graph

Reader = Callable[[str, str, WritingLimits | None], Written]

LANGUAGES: dict[str, Reader] = {"ir": read_ir, "py": read_python}
"""The languages, by the ending of a file's name."""


def language_of(name: str) -> str:
    """The language that a file's name says; "" for a model in a file format."""
    ending = name.rpartition(".")[2].lower()
    return ending if "." in name and ending in LANGUAGES else ""


def graph_of(text: str, language: str, source: str, limits: WritingLimits | None = None) -> Graph:
    """The graph of a written model. Errors: its first problem, at its place."""
    written = LANGUAGES[language](text, source, limits)
    if written.graph is None:
        raise written.problems[0]
    return written.graph


def decoded(data: bytes, source: str) -> str:
    """The text of a file. Errors: E-TEXT-SYNTAX."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as e:
        message = f"{source} is no text in UTF-8: byte {e.start} does not fit"
        raise CompileError("E-TEXT-SYNTAX", message) from None


__all__ = [
    "LANGUAGES",
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
