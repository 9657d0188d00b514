"""The contract of the wire, written from its one home: `python -m app.wire.contract`.

The payloads of `app/wire/shapes`, and what jobs about a result are asked for (`app/jobs/kinds`),
become the types of the page (`static/js/wire.d.ts`). With the table of routes (`app/api`) they
become the tables at the end of `docs/wire.md`. A test compares both files with what this makes.
"""

from __future__ import annotations

import json
import pkgutil
import re
import types
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, NotRequired, Union, get_args, get_origin, is_typeddict

from app.api import ROUTES
from app.api.table import PREFIX, Route
from app.jobs.kinds import ABOUT_A_RESULT
from app.wire import shapes
from app.wire.asked import Asked
from app.wire.shapes import Field, fields_of_shape
from app.wire.shapes.events import EVENTS

COMMAND = "python -m app.wire.contract"
TYPES, PAGE = Path("static/js/wire.d.ts"), Path("docs/wire.md")
MARKER = f"<!-- From here on written by {COMMAND}: edit app/wire/shapes and app/api. -->\n"
_COLUMNS = 100


class Shape(NamedTuple):
    """A payload or a part of one; the version that every payload has is not among its fields."""

    name: str
    words: str
    fields: Mapping[str, Field]

    @staticmethod
    def of(name: str, words: str | None, fields: Mapping[str, Field]) -> Shape:
        """Words as one line."""
        return Shape(name, _line(words), {k: f for k, f in fields.items() if k != "version"})


class Topic(NamedTuple):
    """The shapes of a module, and the types that it is the first to give names to."""

    words: str
    named: Mapping[str, Any]
    shapes: list[Shape]


def topics() -> Iterator[Topic]:
    """Every module of shapes, then the requests of jobs about the result of another."""
    named: dict[str, Any] = {}
    for found in pkgutil.iter_modules(shapes.__path__):
        module = import_module(f"{shapes.__name__}.{found.name}")
        own = vars(module)
        new = {k: t for k, t in own.items() if _has_name(t) and k not in named}
        named |= new
        declared = [t for t in own.values() if is_typeddict(t) and t.__module__ == module.__name__]
        made = [Shape.of(t.__name__, t.__doc__, fields_of_shape(t)) for t in declared]
        yield Topic(_line(module.__doc__), new, made)
    kinds = tuple(ABOUT_A_RESULT)
    asked = [Shape.of(t.__name__, t.__doc__, t.shape()) for t in kinds]
    sent = [Shape.of(t.sent.name, t.sent.words, t.shape(sent=True)) for t in kinds]
    words = "Requests of jobs about the result of a job, and what clients send of them."
    yield Topic(words, {"Asked": Union[kinds]}, [*asked, *sent])  # noqa: UP007 - of a table


def _has_name(t: Any) -> bool:
    """Whether a global of a module is a type that has no name of its own."""
    return get_origin(t) in (Literal, tuple, types.UnionType)


def _line(docstring: str | None) -> str:
    return " ".join((docstring or "").split())


class Notation:
    """Types as TypeScript writes them; `primitives` are what stands for numbers and texts."""

    def __init__(self, primitives: Mapping[type, str], found: Iterable[Topic]) -> None:
        self.primitives = {**primitives, Asked: "Asked", type(None): "null"}
        self.named = {t: name for topic in found for name, t in topic.named.items()}

    def of(self, t: Any) -> str:
        """A type, by its name if it has one."""
        has_name = _has_name(t) and t in self.named
        return self.named[t] if has_name else self.in_full(t)

    def in_full(self, t: Any) -> str:
        """What a type is made of."""
        origin, parts = get_origin(t), get_args(t)
        if t in self.primitives:
            return self.primitives[t]
        if origin is NotRequired:
            return self.of(parts[0])
        if origin is Literal:
            return " | ".join(json.dumps(p, ensure_ascii=False) for p in parts)
        if origin is list:
            item = self.of(parts[0])
            return f"({item})[]" if " | " in item else f"{item}[]"
        if origin is tuple:
            return f"[{', '.join(map(self.of, parts))}]"
        if origin is dict:
            record = f"Record<{self.of(parts[0])}, {self.of(parts[1])}>"
            return record if parts[0] is str else f"Partial<{record}>"
        if origin in (types.UnionType, Union):
            return " | ".join(dict.fromkeys(map(self.of, parts)))
        assert isinstance(t, type), f"no notation for {t!r}"
        return t.__name__

    def field(self, name: str, field: Field) -> str:
        """A field of a shape; `?` after the name of one that may be left out."""
        return f"{name}{'' if field.is_required else '?'}: {self.of(field.type)}"


def typescript() -> str:
    """The types of the page."""
    found = list(topics())
    notation = Notation({int: "number", float: "number", str: "string", bool: "boolean"}, found)
    lines = [
        f"// Written by `{COMMAND}` from app/wire/shapes and app/jobs: edit those.",
        "// Every answer and event has `version: 1` besides. docs/wire.md has the words.",
    ]
    for topic in found:
        lines += ["", f"// {topic.words.partition('. ')[0].rstrip('.')}."]
        lines += (f"export type {k} = {notation.in_full(t)};" for k, t in topic.named.items())
        for shape in topic.shapes:
            fields = [notation.field(*field) + ";" for field in shape.fields.items()]
            lines += _braced(f"export interface {shape.name} {{", fields)
    return "\n".join(lines) + "\n"


def _braced(head: str, fields: list[str]) -> Iterator[str]:
    """Fields in braces: in one line, or in lines that break no field."""
    line = " ".join([head, *fields, "}"])
    if len(line) <= _COLUMNS:
        yield line
        return
    yield head
    line = " "
    for field in fields:
        if line != " " and len(line) + 1 + len(field) > _COLUMNS:
            yield line
            line = " "
        line += f" {field}"
    yield from (line, "}")


def tables() -> str:
    """Every route, then every payload by topic."""
    found = list(topics())
    notation = Notation({int: "int", float: "float", str: "str", bool: "bool"}, found)
    lines = ["## Routes", "", f"All below `{PREFIX}`.", ""]
    lines += _head("route", "takes", "answers", "fails", "")
    lines += (_row(*_route(r, notation)) for r in ROUTES)
    lines += ["", "## Payloads"]
    for topic in found:
        lines += ["", topic.words, "", *_head("shape", "fields", "")]
        lines += (_row(f"`{k}`", f"`{notation.in_full(t)}`", "") for k, t in topic.named.items())
        for shape in topic.shapes:
            fields = ", ".join(notation.field(*field) for field in shape.fields.items())
            lines.append(_row(f"`{shape.name}`", f"`{fields}`" if fields else "", shape.words))
    lines += ["", f"Events: {', '.join(f'`{k}` has `{t.__name__}`' for k, t in EVENTS.items())}."]
    return "\n".join(lines) + "\n"


def _route(r: Route, notation: Notation) -> Iterator[str]:
    """The cells of a route: address, what it takes, what it gives, where it fails, in words."""
    path = re.sub(r"<(?:int:)?(\w+)>", r"{\1}", r.path)
    yield f"`{r.method} {path}`"
    body = r.body.sent.name if isinstance(r.body, type) and issubclass(r.body, Asked) else r.body
    taken = [body if isinstance(body, str) else notation.of(body)] if body else []
    yield ", ".join(f"`{each}`" for each in [*taken, *(f"?{q.name}=" for q in r.query)])
    shape = r.answer if isinstance(r.answer, str) else notation.of(r.answer)
    yield f"{r.status} `{shape}`"
    yield ", ".join(map(str, r.fails))
    yield " ".join([_line(r.words), *(f"`{q.name}`: {q.words}." for q in r.query)])


def _head(*names: str) -> tuple[str, str]:
    return _row(*names), "|" + "---|" * len(names)


def _row(*cells: str) -> str:
    return f"| {' | '.join(c.replace('|', chr(92) + '|') for c in cells)} |"


def page(old: str) -> str:
    """The page with its tables made anew; what stands before them stays."""
    return old.partition(MARKER)[0] + MARKER + "\n" + tables()


def write(root: Path) -> None:
    """Write both files of a clone."""
    (root / TYPES).write_text(typescript(), encoding="utf-8")
    (root / PAGE).write_text(page((root / PAGE).read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write(Path(__file__).parents[2])
