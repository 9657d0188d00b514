"""Models that are being written."""

from __future__ import annotations

from typing import Literal, TypedDict

from app.wire.shapes import Payload
from app.wire.shapes.facts import Problem

Language = Literal["ir", "py"]


class TextToCheck(TypedDict):
    """The text of a model, in the text form of graphs or in Python."""

    language: Language
    text: str


class TextLine(TypedDict):
    """A value that a line defines; lines count from 1."""

    line: int
    name: str
    type: str


class CheckedText(Payload):
    """What reading a text gave: its problems, or a model of so many nodes.

    `ir` is the model in the text form, "" when there is none or it is too long to be written.
    """

    problems: list[Problem]
    lines: list[TextLine]
    n_nodes: int | None
    ir: str


class ConstantMaker(TypedDict):
    """A function for constants that is there beside the operators."""

    name: str
    signature: str
    words: str


class TextExample(TypedDict):
    """A text to begin with."""

    name: str
    language: Language
    words: str
    text: str


class Writing(Payload):
    """What somebody who writes needs; `characters` is how long a text may be."""

    languages: list[str]
    characters: int
    makers: list[ConstantMaker]
    examples: list[TextExample]
