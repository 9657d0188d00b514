"""Limits of moving pictures: numbers of frames, and bytes."""

from __future__ import annotations

import json
from typing import Any

MOST_FRAMES = 240
"""Maximum number of frames of a picture."""
MOST_BYTES = 64_000
"""Maximum number of bytes of all frames of a picture, as JSON."""


class LeftOut(Exception):
    """A moving picture is left out; the message is the reason."""


def left_out(kind: str, reason: str) -> dict[str, Any]:
    """Return the data of a picture that is left out."""
    return {"kind": kind, "omitted": reason, "frames": []}


def bounded(picture: dict[str, Any]) -> dict[str, Any]:
    """Return a picture, or the reason why it is left out if it has too many bytes."""
    nbytes = len(json.dumps(picture))
    if nbytes <= MOST_BYTES:
        return picture
    reason = f"its frames have {nbytes:,} bytes; the limit is {MOST_BYTES:,}"
    return left_out(picture["kind"], reason)
