"""A graph during editing: types are optional, and syntax elements have source positions."""

from __future__ import annotations

from dataclasses import field

from compiler.dataclass import dataclass
from compiler.errors import Where
from compiler.ir.graph import Graph, Value
from compiler.ir.parser import Parser, Span, parsed, place
from compiler.ir.types import OpaqueType


@dataclass(frozen=True)
class Draft:
    """A graph in which outputs without a type in the text have the type `opaque`.

    `spans` maps syntax elements to positions. A key of `spans` is a pair of a kind and a name:

    - "output", "type" or "result", and the name of a value
    - "operator", and the name of a node
    - "operand", and the names of a node and of its operand or attribute

    The suffix " again" marks the second syntax element with the same key.
    """

    source: str
    text: str
    graph: Graph
    spans: dict[tuple[str, str], Span] = field(default_factory=dict)

    def where(self, *parts: tuple[str, str]) -> Where:
        """Return the position of the first of these elements that has a position in the text."""
        found = next((self.spans[p] for p in parts if p in self.spans), (0, 0))
        return place(self.source, self.text, *found)


def parse_draft(text: str, source: str = "text") -> Draft:
    """Parse `name = op(...)` as well as `name: type = op(...)`, without verification.

    Errors: those of `parse_graph`, which requires all types.
    """
    parser = _DraftParser(text, source)
    return Draft(source, text, parsed(parser), parser.spans)


class _DraftParser(Parser):
    def __init__(self, text: str, source: str) -> None:
        super().__init__(text, source)
        self.spans: dict[tuple[str, str], Span] = {}

    def note(self, part: str, name: str, span: Span | None = None) -> None:
        if (part, name) in self.spans:
            part = f"{part} again"
        self.spans.setdefault((part, name), span or (self.start, self.at))

    def output(self) -> Value:
        begin = self.at
        name = self.optional_name()
        span = self.start, self.at
        if self.peek(":"):
            self.at = begin
            return self.typed_name()
        self.note("output", name, span)
        return Value(name, OpaqueType())
