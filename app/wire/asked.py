"""Requests for jobs about the result of another job, declared as dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_type_hints

from app.wire.fields import Check, fields_of
from app.wire.shapes import Field


class Sent(NamedTuple):
    """The name and description of a request body in the OpenAPI description."""

    name: str
    words: str


def asked(check: Check, default: Any = MISSING) -> Any:
    """Declare a field that the client sends; a field without a default is required."""
    return field(default=default, metadata={"check": check})


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a job about the result of `job`.

    Each kind of job is a subclass with its name (`kind`), its request body (`sent`) and its fields.
    Fields that declare no check come from the URL. The docstring of the subclass describes the
    request with all its fields.
    """

    kind: ClassVar[str]
    sent: ClassVar[Sent]

    job: str

    @classmethod
    def from_json(
        cls, job: str, body: Any, given: Mapping[str, Any] | None = None, **stricter: Check
    ) -> Self:
        """Parse the body of a request about a job.

        `given` contains the values of fields from the URL, and defaults for fields that the body
        omits. `stricter` maps fields to checks that replace the declared checks. Errors:
        E-REQUEST-BODY.
        """
        values = dict(given or {})
        checks = {**cls.checks(), **stricter}
        found = fields_of(body, "the request", checks.keys())
        for f in fields(cls):
            if f.name in checks:
                default = None if f.default is MISSING else f.default
                value = found.get(f.name, values.get(f.name, default))
                values[f.name] = checks[f.name].of(f.name, value)
        return cls(job, **values)

    @classmethod
    def checks(cls) -> dict[str, Check]:
        """Return the check of each field of the body."""
        return {f.name: f.metadata["check"] for f in fields(cls) if "check" in f.metadata}

    @classmethod
    def optional(cls) -> set[str]:
        """Return the names of the optional fields."""
        return {f.name for f in fields(cls) if f.default is not MISSING}

    @classmethod
    def shape(cls, *, sent: bool = False) -> dict[str, Field]:
        """Return all fields of the request, or with `sent` only the fields of the request body."""
        hints, checks, optional = get_type_hints(cls), cls.checks(), cls.optional()
        if sent:
            return {name: Field(hints[name], name not in optional) for name in checks}
        own = {f.name: Field(hints[f.name], True) for f in fields(cls)}
        return {"kind": Field(Literal[cls.kind], True), **own}

    def to_json(self) -> dict[str, Any]:
        """Return the request as JSON, with its kind and all defaults."""
        return {"kind": self.kind, **asdict(self)}
