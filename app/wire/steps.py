"""Payloads of the applied and declined steps of passes."""

from __future__ import annotations

from collections.abc import Sequence

from app.wire import VERSION
from app.wire.levels import ARROW, id_within
from app.wire.shapes import stages as shapes
from app.wire.shapes.stages import Saved, Steps
from compiler.passes.engine.cost import CORE
from compiler.trace import Step

STEPS_KEPT = 20_000


def steps_payload(stage: int, steps: Sequence[Step], arrow: str = ARROW) -> Steps:
    """Return the steps of a pass; beyond `STEPS_KEPT`, declined steps are dropped first."""
    kept = list(steps)
    if len(kept) > STEPS_KEPT:
        applied = [s for s in steps if s.outcome == "applied"][:STEPS_KEPT]
        room = STEPS_KEPT - len(applied)
        declined = {id(s) for s in [s for s in steps if s.outcome == "declined"][:room]}
        chosen = declined | {id(s) for s in applied}
        kept = [s for s in steps if id(s) in chosen]
    return {
        "version": VERSION,
        "stage": stage,
        "n_steps": len(kept),
        "n_dropped": len(steps) - len(kept),
        "offset": 0,
        "steps": [_step(s, arrow) for s in kept],
    }


def _step(s: Step, arrow: str) -> shapes.Step:
    return {
        "rule": s.rule,
        "outcome": s.outcome,
        "because": s.because,
        "at": id_within(s.inside, s.at, arrow),
        "took": [id_within(s.inside, name, arrow) for name in s.took],
        "made": [id_within(s.inside, name, arrow) for name in s.made],
        "exact": s.exact,
        "error": s.error,
        "source": s.source,
        "seconds": s.seconds,
        "saves": _saved(s),
    }


def _saved(s: Step) -> Saved | None:
    """Return the savings of a rewrite according to its nodes' declared costs; None if unknown."""
    a, b = s.cost_before, s.cost_after
    if a is None or b is None:
        return None
    return {
        "flops": a.flops - b.flops,
        "bytes": a.bytes_moved - b.bytes_moved,
        "seconds": CORE.seconds(a, 0) - CORE.seconds(b, 0),
    }
