"""Payloads of the applied and declined steps of passes."""

from __future__ import annotations

from collections.abc import Sequence

from app.wire import VERSION
from app.wire.levels import Ways
from app.wire.shapes import stages as shapes
from app.wire.shapes.stages import Saved, Steps
from compiler.figures.passes import Supply, saved_bytes, saved_flops, saved_seconds
from compiler.trace import Step

STEPS_KEPT = 20_000


def steps_payload(
    stage: int, steps: Sequence[Step], supply: Supply, ways: Ways | None = None
) -> Steps:
    """Return the steps of a pass; beyond `STEPS_KEPT`, declined steps are dropped first.

    `supply` has the speeds that turn saved bytes into time.
    """
    kept, named = list(steps), ways or Ways()
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
        "steps": [_step(s, named, supply) for s in kept],
    }


def _step(s: Step, ways: Ways, supply: Supply) -> shapes.Step:
    return {
        "rule": s.rule,
        "outcome": s.outcome,
        "because": s.because,
        "at": ways.id(s.inside, s.at),
        "took": [ways.id(s.inside, name) for name in s.took],
        "made": [ways.id(s.inside, name) for name in s.made],
        "exact": s.exact,
        "error": s.error,
        "source": s.source,
        "seconds": s.seconds,
        "saves": _saved(s, supply),
    }


def _saved(s: Step, supply: Supply) -> Saved | None:
    """Return the savings of a rewrite according to its nodes' declared costs; None if unknown."""
    flops, nbytes, seconds = saved_flops(s), saved_bytes(s), saved_seconds(s, supply)
    if flops is None or nbytes is None or seconds is None:
        return None
    a, b = s.cost_before, s.cost_after
    assert a is not None
    assert b is not None
    return {
        "flops": flops,
        "bytes": nbytes,
        "bytes_written": a.bytes_written - b.bytes_written,
        "bytes_read": a.bytes_read - b.bytes_read,
        "seconds": seconds,
        "supplied_by": supply.level,
    }
