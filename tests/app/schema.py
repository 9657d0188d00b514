"""A validator for the subset of JSON Schema that the OpenAPI description uses."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Collection
from functools import cache
from typing import Any

import brotli
from flask import Flask, Response, request

from app.api import ROUTES
from app.api.openapi import description
from app.wire.problems import MEDIA_TYPE

_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list, tuple),
    "object": (dict,),
}
_JSON = ("application/json", MEDIA_TYPE)
_UNDECLARED = ("openapi", "operations.readyz")
_UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "gzip": gzip.decompress,
    "br": brotli.decompress,
}
_KNOWN = {
    "$ref", "anyOf", "enum", "type", "items", "properties", "required", "additionalProperties",
    "description", "prefixItems", "minItems", "maxItems",
}  # fmt: skip


@cache
def _described() -> dict[str, Any]:
    return description(ROUTES)


def check_shape(payload: Any, name: str, at: str = "$") -> None:
    """Raise an error with the path if a payload lacks the described shape."""
    check(payload, _described()["components"]["schemas"][name], _described(), at)


def check_answers(app: Flask, loose: Collection[str] = ()) -> list[str]:
    """Compare every JSON answer of an application with the declaration of its route.

    Return the list to which differences are added; it must be empty at the end.
    """
    found: list[str] = []
    statuses = {r.name: r.status for r in ROUTES}
    files = {r.name for r in ROUTES if isinstance(r.answer, str)}

    @app.after_request
    def check_one(response: Response) -> Response:
        name = (request.endpoint or "").removeprefix("api.")
        is_right = response.status_code == statuses.get(name)
        is_json = response.mimetype in _JSON and response.status_code != 304
        if not is_json or name in _UNDECLARED or (is_right and name in files) or not response.data:
            return response
        unpack = _UNPACK[response.headers.get("Content-Encoding", "")]
        payload = json.loads(unpack(response.data))
        path = request.url_rule.rule if is_right and request.url_rule else ""
        try:
            if path.startswith("/api/"):
                check(payload, answer_schema(request.method, path), _described(), name, loose)
            else:
                assert response.mimetype == MEDIA_TYPE, f"{name}: an error is {response.mimetype}"
                assert payload["status"] == response.status_code
                check_shape(payload, "Failure", name)
        except AssertionError as e:
            found.append(f"{request.method} {request.path}: {e}")
        return response

    return found


def answer_schema(method: str, rule: str) -> Any:
    """Return the schema of the success answer to a method of a URL rule in Flask's notation."""
    path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule)
    responses = _described()["paths"][path][method.lower()]["responses"]
    right = next(r for status, r in responses.items() if int(status) < 300)
    return right["content"]["application/json"]["schema"]


def check(value: Any, schema: Any, root: Any, at: str = "$", loose: Collection[str] = ()) -> None:
    """Raise an error with the path if a value violates its schema, except for `loose` fields."""
    assert set(schema) <= _KNOWN, f"{at}: this validator does not support {set(schema) - _KNOWN}"
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return check(value, root["components"]["schemas"][name], root, at, loose)
    if "anyOf" in schema:
        return _check_any(value, schema["anyOf"], root, at, loose)
    if "enum" in schema:
        assert value in schema["enum"], f"{at}: {value!r} is not in {schema['enum']}"
    if "type" in schema:
        fits = isinstance(value, _TYPES[schema["type"]])
        fits = fits and (schema["type"] == "boolean" or not isinstance(value, bool))
        assert fits, f"{at}: {value!r} is not of type {schema['type']}"
    if isinstance(value, list | tuple):
        each = schema.get("prefixItems") or [schema.get("items", {})] * len(value)
        assert len(each) == len(value), f"{at}: {len(value)} items, not {len(each)}"
        for i, (item, wanted) in enumerate(zip(value, each, strict=True)):
            check(item, wanted, root, f"{at}[{i}]", loose)
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
