"""The contents of a report: answers of the API by URL.

The most important answers come first; answers beyond the limits are omitted and listed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.report.beside import paths_of
from compiler.errors import CompileError

LIMIT_BYTES = 48_000_000
"""Maximum total size of the answers before compression; browsers still parse this size quickly."""
KERNELS_WITH_CODE = 24
_STEPS = "steps?offset=0&limit=5000"
_CONTEXTS = (3, 1000)

Ask = Callable[[str], Mapping[str, Any] | None]
"""Returns the API's answer at a path, or None if the API has no answer. The path is relative to the
job's URL. If it begins with "/", it is relative to the API's root."""


@dataclass(slots=True)
class Contents:
    """The API's answers in a report, by path, and descriptions of the omitted answers."""

    answers: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    n_bytes: int = 0
    left_out: list[str] = field(default_factory=list)


def contents(ask: Ask, limit_bytes: int = LIMIT_BYTES) -> Contents:
    """Collect the answers for a job's report. Errors: E-RESULT-ABSENT, E-LIMIT-OUTPUT."""
    result = ask("result")
    if result is None or not result["stages"]:
        raise CompileError("E-RESULT-ABSENT", "the job has no result to report")
    held = Contents()
    for words, paths in _wanted(result):
        if words == _BESIDE:
            _add_beside(held, ask, limit_bytes)
            continue
        missing = [p for p in paths if not _add(held, ask, p, limit_bytes)]
        if not missing:
            continue
        if words == _NEEDED:
            raise CompileError(
                "E-LIMIT-OUTPUT",
                f"the limit of a report is {limit_bytes:,} bytes, and the graphs alone exceed it",
            )
        held.left_out.append(f"{words}: {len(missing)} of {len(paths)}")
    slow = _with_code(result)
    n_code = len([k for k in result["kernels"] if k["parts"]])
    if len(slow) < n_code:
        held.left_out.append(f"code of all but the {len(slow)} slowest of {n_code} kernels")
    return held


_NEEDED = "graphs"
_BESIDE = "findings of related jobs"


def _add_beside(held: Contents, ask: Ask, limit_bytes: int) -> None:
    """Add the findings of related jobs, for each job all of its findings or none."""
    known = ask("beside") or {"jobs": []}
    jobs: list[Mapping[str, Any]] = []
    for job in known["jobs"]:
        paths = paths_of(ask, job)
        before = dict(held.answers), held.n_bytes
        if not paths or not all(_add(held, ask, path, limit_bytes) for path in paths):
            held.answers, held.n_bytes = before
            if paths:
                held.left_out.append(f"findings of a job of kind {job['kind']}")
        else:
            jobs.append(job)
    held.answers["beside"] = {**known, "jobs": jobs}


def _wanted(result: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the description and paths of each group of answers, the most important group first."""
    stages, own = result["stages"], sorted({s["graph_stage"] for s in result["stages"]})
    yield _NEEDED, ["result", "union", *(f"stages/{n}/delta" for n in own)]
    if result["kernels"]:
        yield "provenance", ["provenance"]
        yield "fusion verdicts of edges", ["neighbours"]
        yield "measured times", ["profile"]
        yield _BESIDE, []
    yield "steps", [f"stages/{s['stage']}/{_STEPS}" for s in stages]
    near, whole = (
        [f"stages/{s['stage']}/diff?against={max(s['stage'] - 1, 0)}&context={n}" for s in stages]
        for n in _CONTEXTS
    )
    yield "texts", [*(f"stages/{n}/text" for n in own), *near]
    for kernel in _with_code(result):
        number = kernel["kernel"]
        parts = [*kernel["parts"], "links"]
        yield f"code of kernel {number}", [f"kernels/{number}/{part}" for part in parts]
    yield "texts without truncation", whole


def _with_code(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the slowest kernels, by measured time if available, else by predicted time."""
    kernels = [k for k in result["kernels"] if k["parts"]]
    kernels.sort(key=lambda k: -(k.get("seconds") or k.get("predicted_s") or 0.0))
    return kernels[:KERNELS_WITH_CODE]


def _add(held: Contents, ask: Ask, path: str, limit_bytes: int) -> bool:
    """Add the answer at a path if it exists; return False if it would exceed the limit."""
    if path in held.answers:
        return True
    answer = ask(path)
    if answer is None:
        return True
    n_bytes = len(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))
    if held.n_bytes + n_bytes > limit_bytes:
        return False
    held.answers[path] = answer
    held.n_bytes += n_bytes
    return True
