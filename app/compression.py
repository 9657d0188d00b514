"""Compression of answers, as the client accepts. The build compresses the files of the bundle.

Streams are left alone: an event must arrive at once.
"""

from __future__ import annotations

from flask import Flask
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
