"""Payloads of a check of a compiled model: stages, the program, values, rewrites."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from app.wire import VERSION
from app.wire.identities import Identified
from app.wire.shapes import numerics as shapes
from compiler.check.errors import PLACES
from compiler.check.findings import Finding, first_moved, first_wrong
from compiler.check.nodes import NodeErrors
from compiler.check.rewrites import Judged
from compiler.check.stepwise import Check
from compiler.trace import Event

NAMES_KEPT = 20
"""Maximum number of listed nodes that cannot be computed in f64; `n_narrow` counts all such
nodes."""


def part_of(stage: int) -> str:
    """Return the name of the stored part with the values of a stage."""
    return f"numerics-{stage}"


def summary(
    request: Mapping[str, Any], check: Check, commands: Mapping[str, str]
) -> shapes.Numerics:
    """Return the facts known before the first stage; `rows` later gets a row per checked stage."""
    return {
        "version": VERSION,
        "job": request["job"],
        "seed": request["seed"],
        "yardstick": check.yardstick.name,
        "note": check.yardstick.note,
        "tolerance": check.wanted.tolerance,
        "allowed": check.wanted.tolerance,
        "in_codes": check.in_codes,
        "kinds": [],
        "narrow": [],
        "n_narrow": 0,
        "rows": [],
        "program": None,
        "no_program": "",
        "first_moved": None,
        "first_wrong": None,
        "rewrites": None,
        "broken": check.broken,
        "check_command": commands["check"],
        "bisect_command": commands["bisect"],
    }


def with_stages(
    known: shapes.Numerics, check: Check, findings: Sequence[Finding], stages: Sequence[int]
) -> None:
    """Add the results of all stages checked so far; `stages` has the stage number of each
    finding."""
    moved, wrong = first_moved(findings), first_wrong(findings, check.allowed)
    known.update(
        allowed=check.allowed,
        kinds=list(check.kinds),
        narrow=list(check.narrow[:NAMES_KEPT]),
        n_narrow=len(check.narrow),
        first_moved=None if moved is None else stages[moved],
        first_wrong=None if wrong is None else stages[wrong],
    )


def run(found: Finding, check: Check) -> shapes.CheckedRun:
    """Return the errors of a model's computed outputs against the reference and against f64."""
    wide = {e.name: e for e in found.wide}
    return {
        "mark": found.mark(check.wanted.tolerance, check.allowed),
        "objection": found.objection,
        "seconds": found.seconds,
        "relative_error": finite(found.error) if found.differences else None,
        "wide_error": finite(max((e.relative for e in found.wide), default=None)),
        "ulps": finite(max((e.ulps for e in found.wide), default=None)),
        "outputs": [
            {
                "name": d.name,
                "max_abs_error": finite(d.max_abs_error),
                "scale": finite(d.scale),
                "relative_error": finite(d.relative_error),
                "note": d.note,
                "wide_error": finite(wide[d.name].relative) if d.name in wide else None,
                "ulps": finite(wide[d.name].ulps) if d.name in wide else None,
            }
            for d in found.differences
        ],
    }


def row(stage: int, found: Finding, check: Check, values_stage: int | None) -> shapes.CheckedStage:
    """Return the row of a stage; `values_stage` is the number of the stage that stores its
    values."""
    nodes = found.nodes
    return {
        **run(found, check),
        "stage": stage,
        "name": found.stage,
        "changed": found.changed,
        "has_moved": found.moved > 0,
        "moved": finite(found.moved),
        "n_moved": len(nodes.moved) if nodes else 0,
        "values_stage": values_stage,
    }


def values(stage: int, now: Identified, found: NodeErrors) -> shapes.CheckedValues:
    """Return the errors of a stage's values, in evaluation order, for values whose names occur in
    the imported model."""
    makers = {o: now.id_of(n) for n in now.graph.nodes for o in n.outputs if o}
    return {
        "version": VERSION,
        "stage": stage,
        "tolerance": found.tolerance,
        "n_values": found.n_values,
        "places": list(PLACES),
        "values": [
            {
                "name": e.name,
                "node": makers[e.name],
                "absolute_error": finite(e.absolute),
                "relative_error": finite(e.relative),
                "ulps": finite(e.ulps),
                "moved": e.name in found.moved,
                "counts": list(e.counts),
            }
            for e in found.errors
        ],
    }


def rewrites(
    n_applied: int, judged: Sequence[Judged], events: Sequence[Event], stages: Sequence[int]
) -> shapes.CheckedRewrites:
    """Return the number of rewrites checked in isolation, and the wrong rewrites."""
    return {
        "n_applied": n_applied,
        "n_judged": len(judged),
        "wrong": [_wrong(j, events, stages) for j in judged if not j.ok],
    }


def _wrong(judged: Judged, events: Sequence[Event], stages: Sequence[int]) -> shapes.WrongRewrite:
    """Return a wrong rewrite; `step` is the rewrite's index among the steps of its stage, or -1."""
    step, number = judged.rewrite.step, judged.rewrite.number
    same = (step.rule, step.at, step.outcome)
    steps = [(s.rule, s.at, s.outcome) for s in events[number].steps]
    return {
        "stage": stages[number + 1],
        "step": steps.index(same) if same in steps else -1,
        "pass_name": judged.rewrite.pass_name,
        "rule": step.rule,
        "at": step.at,
        "kind": judged.kind,
        "objection": judged.objection,
        "relative_error": finite(judged.error),
    }


def finite(value: float | None) -> float | None:
    """Return a finite number unchanged; None for NaN and infinities."""
    return float(value) if value is not None and math.isfinite(value) else None
