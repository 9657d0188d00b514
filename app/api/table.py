"""Rows of the table of routes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flask.typing import ResponseReturnValue

from app.wire.asked import Asked
from app.wire.shapes.jobs import Job

PREFIX = "/api/v1"
Handler = Callable[..., ResponseReturnValue]
CREATING_FAILS = (409, 422, 429)
"""Statuses of the failures of once.py."""


@dataclass(frozen=True, slots=True)
class Query:
    """An optional query parameter of a URL."""

    name: str
    words: str
    type: type = int


@dataclass(frozen=True, slots=True)
class Route:
    """A route: the handler, answer and request body of one HTTP method at one URL.

    `answer` and `body` are payload types of wire/shapes, or media types if the content is not JSON.
    For a route that starts a job about a result, `body` is the class of the job's request.
    """

    method: str
    path: str
    handler: Handler
    answer: Any
    status: int = 200
    body: Any = None
    query: tuple[Query, ...] = ()
    fails: tuple[int, ...] = ()
    creates: str = ""
    """The kind of data that the route creates, which selects its rate limit; "" for none. Such a
    route accepts Idempotency-Key."""

    @property
    def is_streamed(self) -> bool:
        """Whether the body is a file, which the handler reads piece by piece."""
        return isinstance(self.body, str)

    @property
    def name(self) -> str:
        """The unique name of the handler, which is the operation id in the OpenAPI description."""
        return self.handler.__name__

    @property
    def words(self) -> str:
        """The handler's docstring."""
        return (self.handler.__doc__ or "").strip()


class Table(list[Route]):
    """The rows of the table of routes; decorators on the handlers add them."""

    def route(
        self,
        method: str,
        path: str,
        answer: Any,
        *,
        status: int = 200,
        body: Any = None,
        query: Sequence[Query] = (),
        fails: Sequence[int] = (),
        creates: str = "",
    ) -> Callable[[Handler], Handler]:
        """Add a row to the table, with the decorated function as its handler."""

        def add(handler: Handler) -> Handler:
            failures = tuple(sorted({*fails, *(CREATING_FAILS if creates else ())}))
            row = Route(
                method, path, handler, answer, status, body, tuple(query), failures, creates
            )
            self.append(row)
            return handler

        return add

    def starts(self, path: str, asked: type[Asked]) -> Callable[[Handler], Handler]:
        """Add a row whose handler, the decorated function, starts a job about another job's
        result."""
        fails = (400, 404, 409, 503, 507)
        return self.route("POST", path, Job, status=202, body=asked, fails=fails, creates="jobs")
