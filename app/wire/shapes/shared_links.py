"""Short links."""

from __future__ import annotations

from typing import TypedDict

from app.wire.shapes import Payload
from app.wire.shapes.jobs import JobRequest


class LinkRequest(TypedDict):
    """The state of the page to be shared: what its URL says behind the #."""

    fragment: str


class SharedLink(Payload):
    """A short link: the state in normal form, and the request of the job that is compared with.

    `made_with` is the version that made the link, `program` the one that opens it. Unix seconds.
    """

    id: str
    path: str
    fragment: str
    other: JobRequest | None
    made_with: str
    program: str
    created: float
