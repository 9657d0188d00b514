"""The trial of one model: compiled in several ways, run, and judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from traceback import extract_tb
from typing import Any

import numpy as np

import compiler
from compiler.errors import CompileError
from tests.outside.case import Case
from tests.outside.judge import Judge
from tests.outside.peer import PeerRefused, run_peer


@dataclass(frozen=True)
class Way:
    """A configuration of the compiler."""

    pipeline: str
    threads: int

    def __str__(self) -> str:
        return f"{self.pipeline}, {self.threads} threads"


WAYS = (Way("default", 1), Way("default", 2), Way("O0", 1))


@dataclass(frozen=True)
class Outcome:
    """`right`, `wrong`, `disputed`, `refused`, `crash`, or `peer` if ONNX Runtime refuses."""

    kind: str
    way: str = ""
    detail: str = ""
    result: str = ""

    @property
    def signature(self) -> str:
        """Return a key that failures with the same cause usually share."""
        return f"{self.kind}: {' '.join(_plain(w) for w in self.detail.split()[:14])}"


def _plain(word: str) -> str:
    return "#" if any(c.isdigit() for c in word) else word


def try_case(case: Case, ways: Sequence[Way] = WAYS) -> Outcome:
    """Return the first failure, or `right`."""
    text = case.model.SerializeToString()
    judges: list[Judge] = []
    for feeds in case.feeds:
        try:
            judges.append(Judge(case.model, feeds, run_peer(text, feeds)))
        except PeerRefused as e:
            if not judges:
                return Outcome("peer", detail=str(e)[:300])
    first: list[Mapping[str, Any]] = []
    disputed: Outcome | None = None
    for way in ways:
        try:
            results = _run(text, way, judges)
        except CompileError as e:
            return Outcome("refused", str(way), f"{e.code} {e.message} {e.where}")
        except Exception as e:  # any other exception is a bug; its text is the finding
            return Outcome("crash", str(way), _told(e))
        for k, (judge, made) in enumerate(zip(judges, results, strict=True)):
            if found := judge.objection(made):
                kind = "disputed" if found.disputed else "wrong"
                outcome = Outcome(kind, str(way), f"{found.text} of feed {k}", found.result)
                if kind == "wrong":
                    return outcome
                disputed = disputed or outcome
        if way == Way("default", 1):
            first = results
        elif way == Way("default", 2) and first and not all(map(_same, results, first)):
            return Outcome("wrong", str(way), "other bits than with one thread")
    return disputed or Outcome("right")


def _run(text: bytes, way: Way, judges: Sequence[Judge]) -> list[Mapping[str, Any]]:
    program = compiler.compile(text, pipeline=way.pipeline, threads=way.threads, trace=False)
    return [program.run(judge.feeds) for judge in judges]


def _same(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return all(_equal(a[n], b[n]) for n in a)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, np.ndarray) and a.dtype != object:
        return a.tobytes() == b.tobytes()
    return bool(np.array_equal(a, b))


def _told(e: Exception) -> str:
    """Return the exception in one line, with the two innermost positions."""
    text = " ".join(str(e).splitlines()[:3])[:300]
    places = [
        f"{f.filename.split('/compiler/')[-1]}:{f.lineno}" for f in extract_tb(e.__traceback__)
    ]
    return f"{type(e).__name__}: {text} | {' '.join(places[-2:])}"
