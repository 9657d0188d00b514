"""Payloads of edited schedules: the moves, the errors of a text, and the results of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from app.wire import VERSION
from app.wire.fields import fields_of, text
from app.wire.problems import problem
from app.wire.shapes import schedules as shapes
from app.wire.texts import code_levels
from compiler.machine.name import machine_name
from compiler.runtime.kernel_code import Code
from compiler.runtime.profile import median_interval
from compiler.schedule.language.draft import Draft
from compiler.schedule.language.move import MOVES
from compiler.schedule.language.running import STEPS
from compiler.tuning.beside import Compared, Turns
from compiler.tuning.tune import NOISE

CHARACTERS = 20_000
"""Maximum length of a schedule in a request, in characters."""

TEXT = text(CHARACTERS)


def moves() -> shapes.Moves:
    """Return all moves with their descriptions, and the steps to which `tensorize` maps loops."""
    return {
        "version": VERSION,
        "characters": CHARACTERS,
        "steps": list(STEPS),
        "moves": [
            {
                "name": m.name,
                "signature": m.signature,
                "words": m.title,
                "level": m.level,
                "parameters": [
                    {
                        "name": p.name,
                        "kind": p.kind.name,
                        "words": p.kind.words,
                        "is_rest": p.is_rest,
                    }
                    for p in m.parameters
                ],
            }
            for m in MOVES.values()
        ],
    }


def schedule_text(body: Any) -> str:
    """Parse a request to check a schedule, and return the schedule's text. Errors:
    E-REQUEST-BODY."""
    return TEXT.of("text", fields_of(body, "the request", {"text"}).get("text"))


def checked_schedule(found: Draft) -> shapes.CheckedSchedule:
    """Return the result of parsing a schedule."""
    return {
        "version": VERSION,
        "problems": list(map(problem, found.problems)),
        "n_moves": found.n_moves,
        "stages": list(found.stages),
        "nests": [
            {"nest": n.nest, "line": n.line, "loops": list(n.loops), "tensors": list(n.tensors)}
            for n in found.nests
        ],
    }


def edited(
    request: Mapping[str, Any], name: str, original: Code, changed: Code
) -> shapes.EditedKernel:
    """Return a kernel at each level under the original and the edited schedule, before the runs."""
    return {
        "version": VERSION,
        "job": request["job"],
        "kernel": request["kernel"],
        "name": name,
        "text": request["text"],
        "original": _texts(original),
        "edited": _texts(changed),
        "because": "",
        "outputs": [],
        "times": None,
    }


def _texts(code: Code) -> shapes.ScheduledCode:
    return {
        **code_levels(code),
        "n_instructions": code.counts.n_instructions,
        "n_spills": code.counts.n_spills,
        "n_bytes": code.n_bytes,
    }


def verdict(found: Sequence[Compared], turns: Turns | None) -> shapes.ScheduleVerdict:
    """Return the comparison of the original and the edited schedule: results and times."""
    return {
        "outputs": [
            {
                "name": c.name,
                "agrees": c.agrees,
                "max_abs_error": c.max_abs_error,
                "scale": c.scale,
            }
            for c in found
        ],
        "times": _times(turns) if turns else None,
    }


def _times(turns: Turns) -> shapes.SchedulesInTurns:
    ratio, low, high = turns.ratio
    return {
        "machine": machine_name(),
        "rounds": len(turns.edited),
        "noise": NOISE,
        "ratio": ratio,
        "low": low,
        "high": high,
        "original": _measured(turns.original),
        "edited": _measured(turns.edited),
    }


def _measured(seconds: Sequence[float]) -> shapes.CallTime:
    low, high = median_interval(seconds)
    return {"median_s": median(seconds), "low_s": low, "high_s": high}
