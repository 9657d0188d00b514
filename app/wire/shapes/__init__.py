"""The one home of every payload: typed dictionaries, a module by topic.

Builders give them. The description of the API (`/openapi.json`), the types of the page
(`static/js/wire.d.ts`) and the tables of `docs/wire.md` are made from them: after a change run
`python -m app.contract`. The docstring of a class is what all of these say of it, and a type
that has a name in a module (`JobState`) has that name there.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, NotRequired, TypedDict, get_origin, get_type_hints

Version = Literal[1]


class Payload(TypedDict):
    """What every answer has."""

    version: Version


class Field(NamedTuple):
    """The type of a field, and whether it is always there."""

    type: Any
    is_required: bool


def fields_of_shape(shape: type) -> dict[str, Field]:
    """The fields of a typed dictionary; the class cannot tell when its annotations are texts."""
    hints = get_type_hints(shape, include_extras=True)
    total: bool = getattr(shape, "__total__", True)
    return {k: Field(t, total and get_origin(t) is not NotRequired) for k, t in hints.items()}
