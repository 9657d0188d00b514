"""Requests for jobs about the result of another job, each declared as the fields that it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_type_hints

from app.wire.fields import Check, fields_of
from app.wire.shapes import Field


class Sent(NamedTuple):
    """What the description of the API says of the body that a client sends."""

    name: str
    words: str


def asked(check: Check, default: Any = MISSING) -> Any:
    """A field of a request that the client sends; one without a default must be there."""
    return field(default=default, metadata={"check": check})


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for about the result of `job`.

    A kind of job is a class below this one: its name, what clients send, and the fields of both.
    Fields without a check are told by the address. The docstring describes the whole request.
    """

    kind: ClassVar[str]
    sent: ClassVar[Sent]

    job: str

    @classmethod
    def from_json(
        cls, job: str, body: Any, given: Mapping[str, Any] | None = None, **stricter: Check
    ) -> Self:
        """The request that a body makes of a job.

        `given` has values of fields that the body leaves out, and of those that the address tells;
        `stricter` has checks in the place of those that are declared. Errors: E-REQUEST-BODY.
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
        """The fields that the body may have, and what each may hold."""
        return {f.name: f.metadata["check"] for f in fields(cls) if "check" in f.metadata}

    @classmethod
    def optional(cls) -> set[str]:
        """The fields that a body may leave out."""
        return {f.name for f in fields(cls) if f.default is not MISSING}

    @classmethod
    def shape(cls, *, sent: bool = False) -> dict[str, Field]:
        """The fields of a request; `sent`: those that a body may have."""
        hints, checks, optional = get_type_hints(cls), cls.checks(), cls.optional()
        if sent:
            return {name: Field(hints[name], name not in optional) for name in checks}
        own = {f.name: Field(hints[f.name], True) for f in fields(cls)}
        return {"kind": Field(Literal[cls.kind], True), **own}

    def to_json(self) -> dict[str, Any]:
        """The request with its kind and all defaults."""
        return {"kind": self.kind, **asdict(self)}
