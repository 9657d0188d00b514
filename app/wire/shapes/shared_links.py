"""Short links."""

from __future__ import annotations

from typing import TypedDict

from app.wire.shapes import Payload
from app.wire.shapes.jobs import JobRequest


class LinkRequest(TypedDict):
    """The state of the page to share: the fragment of its URL, after the #."""

    fragment: str


class SharedLink(Payload):
    """A short link: the state in normal form, and the request of the compared job.

    `made_with` is the program version that created the link, `program` the current version. Times
    are in Unix seconds.
    """

    id: str
    path: str
    fragment: str
    other: JobRequest | None
    made_with: str
    program: str
    created: float
