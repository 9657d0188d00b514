"""The outcome of one case: load, compile and run its model, and compare the outputs."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from compiler.conformance.cases import Case
from compiler.conformance.judge import objection
from compiler.dataclass import dataclass
from compiler.driver import compile
from compiler.errors import CompileError
from compiler.frontend import load
from compiler.options import Options
from compiler.runtime.thunks.kernels import KernelInfo

KINDS = {
    "native": "correct, with generated code, views and constants only",
    "mixed": "correct, with generated code and fallbacks",
    "fallback": "correct, with fallbacks only",
    "refused": "rejected with a CompileError",
    "wrong": "an output differs from the expected one",
    "crashed": "the process died, timed out, or raised an error other than CompileError",
}
"""The kinds of outcome, one per case."""

RIGHT = ("native", "mixed", "fallback")
FAILED = ("wrong", "crashed")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a case.

    `fallbacks` lists each fallback: its operator in our graph, and its reason. `code` is the error
    code of a refusal; `why` is the reason of a refusal, a mismatch or a crash.
    Units: `seconds` is the total wall-clock time.
    """

    suite: str
    name: str
    operators: tuple[str, ...]
    kind: str
    code: str = ""
    why: str = ""
    remark: str = ""
    n_native: int = 0
    n_kernels: int = 0
    fallbacks: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0

    @property
    def is_right(self) -> bool:
        """Return whether the outputs match the expected outputs."""
        return self.kind in RIGHT

    def to_json(self) -> dict[str, Any]:
        """Return the data that `--json` prints."""
        data = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "kind"}
        return data | {
            "outcome": self.kind,
            "operators": list(self.operators),
            "fallbacks": [{"op": op, "because": because} for op, because in self.fallbacks],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Outcome:
        """Parse the result of `to_json`."""
        taken: dict[str, Any] = dict(data)
        taken["kind"] = taken.pop("outcome")
        taken["operators"] = tuple(data["operators"])
        taken["fallbacks"] = tuple((f["op"], f["because"]) for f in data["fallbacks"])
        return cls(**taken)


def outcome_of(case: Case) -> Outcome:
    """Load, compile and run a case in this process, and judge its outputs."""
    start = perf_counter()
    try:
        found = _judged(case)
    except CompileError as e:
        found = _outcome(case, "refused", code=e.code, why=e.message)
    except Exception as e:  # the suite's purpose is to find unexpected errors
        found = _outcome(case, "crashed", why=_described(e))
    return replace(found, seconds=perf_counter() - start)


def crashed(case: Case, why: str, seconds: float) -> Outcome:
    """Return the outcome of a case whose process died."""
    return _outcome(case, "crashed", why=why, seconds=seconds)


def _outcome(case: Case, kind: str, **rest: Any) -> Outcome:
    remark = "random" if case.is_random else ""
    return Outcome(case.suite, case.name, case.operators, kind, remark=remark, **rest)


def _judged(case: Case) -> Outcome:
    program = compile(load(case.model.SerializeToString()), Options(trace=False))
    for inputs, expected in case.read():
        made = program.run(case.feeds(inputs))
        wrong = _first_objection(case, made, expected)
        if wrong:
            return _outcome(case, "wrong", why=wrong, **_counts(program.kernels))
    counts = _counts(program.kernels)
    return _outcome(case, _how(counts["n_native"], counts["n_kernels"]), **counts)


def _first_objection(case: Case, made: Mapping[str, Any], expected: Sequence[Any]) -> str:
    if len(made) != len(expected):
        return f"{len(made)} outputs instead of {len(expected)}"
    for (name, value), needed in zip(made.items(), expected, strict=True):
        found = objection(value, needed, case.rtol, case.atol, is_random=case.is_random)
        if found:
            return f"{name}: {found}"
    return ""


def _counts(kernels: Sequence[KernelInfo]) -> dict[str, Any]:
    return {
        "n_native": sum(k.native for k in kernels),
        "n_kernels": len(kernels),
        "fallbacks": tuple((k.op, k.because) for k in kernels if not k.native),
    }


def _how(n_native: int, n_kernels: int) -> str:
    if n_native == n_kernels:
        return "native"
    return "mixed" if n_native else "fallback"


def _described(e: Exception) -> str:
    """Describe an error by its type, its first line, and the module and function that raised it."""
    frames = traceback.extract_tb(e.__traceback__)
    place = f" in {Path(frames[-1].filename).stem}.{frames[-1].name}" if frames else ""
    first = str(e).splitlines()[0][:200] if str(e) else ""
    return f"{type(e).__name__}{place}: {first}"
