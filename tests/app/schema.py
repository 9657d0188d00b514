"""The part of JSON Schema that our description uses, as a check."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from app.api import ROUTES
from app.api.openapi import description

_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}
_KNOWN = {
    "$ref", "anyOf", "enum", "type", "items", "properties", "required", "additionalProperties",
    "description",
}  # fmt: skip


def check_shape(payload: Any, name: str, at: str = "$") -> None:
    """Fail with the place where a payload does not have a shape of the description."""
    described = description(ROUTES)
    check(payload, described["components"]["schemas"][name], described, at)


def check(value: Any, schema: Any, root: Any, at: str = "$", loose: Collection[str] = ()) -> None:
    """Fail with the place where a value does not fit its schema; `loose` fields are left out."""
    assert set(schema) <= _KNOWN, f"{at}: the check does not know {set(schema) - _KNOWN}"
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return check(value, root["components"]["schemas"][name], root, at, loose)
    if "anyOf" in schema:
        return _check_any(value, schema["anyOf"], root, at, loose)
    if "enum" in schema:
        assert value in schema["enum"], f"{at}: {value!r} is none of {schema['enum']}"
    if "type" in schema:
        fits = isinstance(value, _TYPES[schema["type"]])
        fits = fits and (schema["type"] == "boolean" or not isinstance(value, bool))
        assert fits, f"{at}: {value!r} is no {schema['type']}"
    if isinstance(value, list):
        for i, item in enumerate(value):
            check(item, schema.get("items", {}), root, f"{at}[{i}]", loose)
    if isinstance(value, dict):
        _check_object(value, schema, root, at, loose)
    return None


def _check_any(value: Any, schemas: Any, root: Any, at: str, loose: Collection[str]) -> None:
    problems = []
    for schema in schemas:
        try:
            return check(value, schema, root, at, loose)
        except AssertionError as e:
            problems.append(str(e))
    raise AssertionError("; ".join(problems))


def _check_object(value: Any, schema: Any, root: Any, at: str, loose: Collection[str]) -> None:
    fields = schema.get("properties", {})
    missing = [name for name in schema.get("required", ()) if name not in value]
    assert not missing, f"{at}: without {missing}"
    others = schema.get("additionalProperties", True)
    for name, item in value.items():
        if name in loose:
            continue
        if name in fields:
            check(item, fields[name], root, f"{at}.{name}", loose)
        elif isinstance(others, dict):
            check(item, others, root, f"{at}.{name}", loose)
        else:
            assert others, f"{at}: the field {name!r} is not described"
