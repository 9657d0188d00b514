"""The OpenAPI 3.1 description, generated from the table of routes and the payload types."""

from __future__ import annotations

import re
import types
from collections.abc import Mapping, Sequence
from typing import (
    Any,
    Literal,
    NotRequired,
    TypeGuard,
    Union,
    get_args,
    get_origin,
    is_typeddict,
)

from flask import Flask, Response, current_app

from app.api.answers import json_answer
from app.api.once import HEADER
from app.api.table import PREFIX, Query, Route, Table
from app.jobs.kinds import ABOUT_A_RESULT
from app.wire.asked import Asked
from app.wire.problems import MEDIA_TYPE as PROBLEM
from app.wire.shapes import Field, fields_of_shape
from app.wire.shapes.facts import Failure
from compiler import __version__

ROUTES = Table()
_PARAMETER = re.compile(r"<(?:(int):)?(\w+)>")
_PRIMITIVE = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"}


@ROUTES.route("GET", "/openapi.json", dict[str, Any])
def openapi() -> Response:
    """Return the OpenAPI description of the API."""
    return json_answer(current_app.extensions["openapi"])


def describe(app: Flask, routes: Sequence[Route]) -> None:
    """Generate the description of an application's routes."""
    app.extensions["openapi"] = description(routes)


def description(routes: Sequence[Route]) -> dict[str, Any]:
    """Return the OpenAPI description of the routes."""
    schemas = _Schemas()
    paths: dict[str, dict[str, Any]] = {}
    for r in routes:
        path = PREFIX + _PARAMETER.sub(r"{\2}", r.path)
        paths.setdefault(path, {})[r.method.lower()] = _operation(r, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Compilarium",
            "version": __version__,
            "description": "Compile ONNX models and inspect every step. See docs/wire.md.",
        },
        "paths": paths,
        "components": {"schemas": schemas.named},
    }


def _operation(r: Route, schemas: _Schemas) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": r.name,
        "summary": r.words,
        "parameters": [
            *(_path_parameter(m[1], m[2]) for m in _PARAMETER.finditer(r.path)),
            *map(_query_parameter, r.query),
            *([_KEY_PARAMETER] if r.creates else []),
        ],
        "responses": {
            str(r.status): {"description": r.words, "content": schemas.content(r.answer)}
        },
    }
    if r.body is not None:
        operation["requestBody"] = {"required": True, "content": schemas.sent(r.body)}
    for status in sorted({*r.fails, 500}):
        operation["responses"][str(status)] = {
            "description": "see the codes in docs/wire.md",
            "content": schemas.content(Failure, PROBLEM),
        }
    return operation


def _path_parameter(kind: str | None, name: str) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": 0} if kind == "int" else {"type": "string"}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _query_parameter(q: Query) -> dict[str, Any]:
    return {
        "name": q.name,
        "in": "query",
        "required": False,
        "description": q.words,
        "schema": {"type": _PRIMITIVE[q.type]},
    }


_KEY_PARAMETER = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "a name of this request, chosen by the client: an equal request with the same "
    "name within 24 hours has the same answer, and creates nothing",
    "schema": {"type": "string"},
}


class _Schemas:
    """JSON schemas of payload types; typed dictionaries become named components."""

    def __init__(self) -> None:
        self.named: dict[str, Any] = {}

    def content(self, shape: Any, media_type: str = "application/json") -> dict[str, Any]:
        """Describe the content of a request body or an answer: JSON of a payload type, or a media
        type."""
        if isinstance(shape, str):
            return {shape: {"schema": {"type": "string"}}}
        return {media_type: {"schema": self.of(shape)}}

    def sent(self, shape: Any) -> dict[str, Any]:
        """Describe a request body; for a job request, only the fields that clients send."""
        if not _is_asked(shape):
            return self.content(shape)
        schema = self._named(shape.sent.name, shape.sent.words, shape.shape(sent=True))
        return {"application/json": {"schema": schema}}

    def of(self, t: Any) -> dict[str, Any]:
        """Return the schema of a type."""
        origin, arguments = get_origin(t), get_args(t)
        if is_typeddict(t):
            return self._named(t.__name__, _words(t), fields_of_shape(t))
        if _is_asked(t):
            return self._named(t.__name__, _words(t), t.shape())
        if t in _PRIMITIVE:
            return {"type": _PRIMITIVE[t]}
        if t is Any:
            return {}
        if origin is NotRequired:
            return self.of(arguments[0])
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin is list:
            return {"type": "array", "items": self.of(arguments[0])}
        if origin is tuple:
            items = [self.of(a) for a in arguments]
            return {
                "type": "array",
                "prefixItems": items,
                "minItems": len(items),
                "maxItems": len(items),
            }
        if origin is dict:
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        if origin in (types.UnionType, Union):
            return {"anyOf": [self.of(a) for one in arguments for a in _alternatives(one)]}
        raise TypeError(f"no schema for {t!r}")

    def _named(self, name: str, words: str, fields: Mapping[str, Field]) -> dict[str, Any]:
        if name not in self.named:
            self.named[name] = {}  # registered before the fields: shapes may be recursive
            self.named[name] = {
                "type": "object",
                "description": words,
                "properties": {k: self.of(f.type) for k, f in fields.items()},
                "required": [k for k, f in fields.items() if f.is_required],
                "additionalProperties": False,
            }
        return {"$ref": f"#/components/schemas/{name}"}


def _words(t: Any) -> str:
    return (t.__doc__ or "").strip()


def _is_asked(t: Any) -> TypeGuard[type[Asked]]:
    return isinstance(t, type) and issubclass(t, Asked)


def _alternatives(t: Any) -> Sequence[Any]:
    """For `Asked`, return all classes of requests about a result; for another type, the type
    itself."""
    return tuple(ABOUT_A_RESULT) if t is Asked else (t,)
