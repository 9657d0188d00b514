"""Compression of answers, as the client accepts. The build compresses the files of the bundle.

Event streams are not compressed: an event must arrive at once.
"""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import cast

import brotli
from flask import Flask, Response, request
from flask_compress import Compress

MEDIA_TYPES = (
    "application/json",
    "application/problem+json",
    "text/html",
    "text/plain",
    "text/csv",
    "image/svg+xml",
)
FROM_BYTES = 1400
"""Shorter answers fit into one packet of the network in any case."""
_BROTLI_LEVEL = 5


def register(app: Flask) -> None:
    """Compress the answers of an application that are not compressed already."""
    app.config["COMPRESS_MIMETYPES"] = list(MEDIA_TYPES)
    app.config["COMPRESS_ALGORITHM"] = ["br", "zstd", "gzip"]
    app.config["COMPRESS_BR_LEVEL"] = _BROTLI_LEVEL
    app.config["COMPRESS_MIN_SIZE"] = FROM_BYTES
    app.config["COMPRESS_STREAMS"] = False
    Compress(app)


_ENCODERS: Mapping[str, Callable[[bytes], bytes]] = {
    "br": partial(brotli.compress, quality=9),  # the best quality, 11, takes 20 times as long
    "gzip": gzip.compress,
}
"""The encodings of `Constant`, the best one first."""
_ELSE = "zstd"
"""An encoding that is better than gzip; the compression of all answers applies it."""


class Constant:
    """The equal content of many answers, compressed once for each encoding."""

    def __init__(self, content: bytes, media_type: str) -> None:
        self.content, self.media_type = content, media_type
        self.digest = hashlib.blake2b(content, digest_size=8).hexdigest()
        self._encoded: dict[str, bytes] = {"": content}
        self._lock = threading.Lock()

    def answer(self, *, is_named: bool = True) -> Response:
        """Answer with the content. With `is_named`, the answer has an ETag: clients keep the
        content, and validate it before each use."""
        encoding = _accepted()
        response = Response(self._as(encoding), mimetype=self.media_type)
        response.vary.add("Accept-Encoding")
        if encoding:
            response.headers["Content-Encoding"] = encoding
        if not is_named:
            return response
        response.set_etag(f"{self.digest}-{encoding}" if encoding else self.digest)
        response.headers["Cache-Control"] = "no-cache"
        return cast(Response, response.make_conditional(request))

    def _as(self, encoding: str) -> bytes:
        with self._lock:
            if encoding not in self._encoded:
                self._encoded[encoding] = _ENCODERS[encoding](self.content)
            return self._encoded[encoding]


def _accepted() -> str:
    """Return the best of our encodings that the client accepts; "" if zstd is better."""
    accepted = request.accept_encodings
    if accepted["br"] <= 0 and accepted[_ELSE] > 0:
        return ""
    return next((each for each in _ENCODERS if accepted[each] > 0), "")
