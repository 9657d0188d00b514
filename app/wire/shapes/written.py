"""Written models."""

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
    """The value defined by a line; lines count from 1."""

    line: int
    name: str
    type: str


class CheckedText(Payload):
    """The result of reading a model's text: the problems of the text, or the number of nodes of the
    model.

    `ir` is the model in the text form of graphs, "" if the text has errors or `ir` would be too
    long.
    """

    problems: list[Problem]
    lines: list[TextLine]
    n_nodes: int | None
    ir: str


class ConstantMaker(TypedDict):
    """A function that creates constants, in addition to the operators."""

    name: str
    signature: str
    words: str


class TextExample(TypedDict):
    """An example of a written model."""

    name: str
    language: Language
    words: str
    text: str


class Writing(Payload):
    """Help for writing models; `characters` is the maximum length of a text."""

    languages: list[str]
    characters: int
    makers: list[ConstantMaker]
    examples: list[TextExample]
