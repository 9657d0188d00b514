"""Findings of related jobs to include in a report, as options of the command line.

`--find place:platform=gpu,ahead=0` names a kind of job, and values for fields of its request. All
other fields have their defaults.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any

from app.jobs.kinds import ABOUT_A_RESULT
from app.report.beside import KINDS
from app.wire.asked import Asked
from compiler.errors import CompileError

_ASKED: Mapping[str, type[Asked]] = {
    asked.kind: asked for asked in ABOUT_A_RESULT if asked.kind in KINDS
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A related job to include in a report: the class of the job's request, and the request
    body."""

    asked: type[Asked]
    body: Mapping[str, Any]

    @staticmethod
    def of(text: str) -> Finding:
        """Parse a value of `--find`. Errors: E-OPTION-VALUE."""
        kind, _, rest = text.partition(":")
        asked = _ASKED.get(kind)
        if asked is None:
            raise CompileError(
                "E-OPTION-VALUE",
                f"reports do not include jobs of the kind {kind!r:.40}",
                hint=f"choose one of {', '.join(_ASKED)}",
            )
        pairs = (each.partition("=") for each in rest.split(",") if each)
        body = {name: _value(said) for name, _, said in pairs}
        try:
            asked.from_json("", body)
        except CompileError as e:
            raise CompileError("E-OPTION-VALUE", f"--find {kind}: {e.message}") from None
        return Finding(asked, body)

    @staticmethod
    def asked_for(request: Mapping[str, Any]) -> Finding | None:
        """Return the finding of a job; None if reports exclude this kind of job."""
        asked = _ASKED.get(str(request.get("kind")))
        if asked is None:
            return None
        checks = asked.checks()
        given = {f.name: request.get(f.name, f.default) for f in fields(asked)}
        defaults = {f.name: f.default for f in fields(asked)}
        body = {k: v for k, v in given.items() if k in checks and v != defaults[k]}
        return Finding(asked, body)

    def __str__(self) -> str:
        """Format the finding as a value of `--find`."""
        said = ",".join(
            f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in self.body.items()
        )
        return f"{self.asked.kind}:{said}" if said else self.asked.kind


def _value(said: str) -> Any:
    with suppress(ValueError):
        return json.loads(said)
    return said


def report_command(compiles: str, requests: Iterable[Mapping[str, Any]]) -> str:
    """Turn the command that compiles a model into the command that writes the report.

    `requests` are the requests of related jobs, oldest first. Returns "" for a result with tuned
    schedules, which reports do not support.
    """
    program, _, *words = shlex.split(compiles, comments=True)
    if "--database" in words:
        return ""
    found = (Finding.asked_for(request) for request in requests)
    texts = dict.fromkeys(str(each) for each in found if each is not None)
    asked = [word for text in texts for word in ("--find", text)]
    return shlex.join([program, "report", *words, *asked])
