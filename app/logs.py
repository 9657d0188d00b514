"""The log on standard error: text for a terminal, or JSON lines without contents of models.

A JSON line contains the messages of our own loggers in full. It contains only the template of a
library's message, and only the type and code position of an exception.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from types import TracebackType

from app.config import LogFormat

OURS = "compilarium"
REQUESTS = "compilarium.requests"
"""The log of requests. A record's `facts` become fields of its line."""
_FRAMES = 30


def configure_logs(form: LogFormat, *, requests: bool = False) -> None:
    """Write warnings and errors to standard error in this format, and requests if wanted."""
    is_text = form == "text" or (form == "auto" and sys.stderr.isatty())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        logging.Formatter("%(levelname)s %(name)s: %(message)s") if is_text else JsonLines()
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger(REQUESTS).setLevel(logging.INFO if requests else logging.WARNING)


class JsonLines(logging.Formatter):
    """Formats a record as a line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        is_ours = record.name.partition(".")[0] == OURS
        line: dict[str, object] = {
            "time": _utc(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage() if is_ours else str(record.msg)[:200],
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__qualname__
            line["frames"] = _frames(record.exc_info[2])
        return json.dumps({**line, **getattr(record, "facts", {})})


def _frames(trace: TracebackType | None) -> list[str]:
    rows = traceback.extract_tb(trace)[-_FRAMES:]
    return [f"{row.filename}:{row.lineno} {row.name}" for row in rows]


def _utc(seconds: float) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1000):03d}Z"
