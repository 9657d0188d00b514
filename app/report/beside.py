"""The API's answers that the panes need in order to show the findings of related jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Payload = Mapping[str, Any]
_Ask = Callable[[str], Payload | None]


def paths_of(ask: _Ask, job: Payload) -> list[str]:
    """Return the paths of the API's answers about a related job; empty if no pane shows such
    jobs."""
    kind = KINDS.get(job["kind"])
    return list(kind(ask, f"/jobs/{job['id']}")) if kind else []


def _numerics(ask: _Ask, job: str) -> Iterator[str]:
    yield f"{job}/numerics"
    rows = (ask(f"{job}/numerics") or {"rows": []})["rows"]
    stages = {row["values_stage"] for row in rows} - {None}
    yield from (f"{job}/numerics/{stage}" for stage in sorted(stages))


def _placements(ask: _Ask, job: str) -> Iterator[str]:
    yield "/platforms"
    yield f"{job}/placements"
    rows = (ask(f"{job}/placements") or {"rows": []})["rows"]
    yield from (f"{job}/placements/{row['scheduler']}" for row in rows if not row["problem"])


def _targets(ask: _Ask, job: str) -> Iterator[str]:
    yield f"{job}/targets"
    rows = (ask(f"{job}/targets") or {"rows": []})["rows"]
    yield from (f"{job}/targets/{row['target']}" for row in rows if not row["because"])


def _one(path: str) -> Callable[[_Ask, str], Iterator[str]]:
    return lambda ask, job: iter([f"{job}/{path}"])


KINDS: Mapping[str, Callable[[_Ask, str], Iterator[str]]] = {
    "check": _numerics,
    "place": _placements,
    "targets": _targets,
    "tune": _one("tuning"),
    "profile": _one("profile"),
    "bisect": _one("bisect"),
}
"""The kinds of jobs included in reports."""
