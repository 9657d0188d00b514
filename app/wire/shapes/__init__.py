"""Declarations of all payloads: typed dictionaries, one module per topic.

Builders return the payloads. Two documents are generated from the declarations: the description of
the API (`/openapi.json`) and the types of the page (`static/js/wire.d.ts`). Both contain the
docstrings of the classes. After a change, run `python -m app.contract`.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, NotRequired, TypedDict, get_origin, get_type_hints

Version = Literal[1]


class Payload(TypedDict):
    """The fields of every answer."""

    version: Version


class Field(NamedTuple):
    """The type of a field, and whether the field is required."""

    type: Any
    is_required: bool


def fields_of_shape(shape: type) -> dict[str, Field]:
    """Return the fields of a typed dictionary, whose annotations may be strings."""
    hints = get_type_hints(shape, include_extras=True)
    total: bool = getattr(shape, "__total__", True)
    return {k: Field(t, total and get_origin(t) is not NotRequired) for k, t in hints.items()}
