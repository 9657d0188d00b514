"""Findings of a check (one for each stage, program or peer), and the overall verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from compiler.check.errors import Error
from compiler.check.nodes import NodeErrors
from compiler.check.rewrites import Judged
from compiler.dataclass import dataclass
from compiler.runtime.compare import Difference, worst
from compiler.runtime.program import Program

LARGEST_STEPS = 2e-2
"""The largest relative difference that rounding steps of a quantized model may explain."""

ONE_STEP = 1 / 127
"""The distance between adjacent 8-bit quantized values, relative to the largest value."""

IMPORTED = "imported"
"""The stage name of the imported graph."""

Mark = Literal["ok", "steps", "wrong"]
"""The mark of a finding: within the tolerance, within the allowed rounding steps, or wrong."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The comparison of one computation of the model with the yardstick, the reference results.

    `stage` names the computation: `imported`, a pass, `program`, or a peer. For `imported` and
    passes, our reference evaluates the graph. A stage `program and NAME` is the comparison of the
    program with the peer NAME. A finding fails the check only if it is `judged`. The findings of
    peers are reported but not judged: errors of a peer are not errors of the compiler. `wide` has
    the errors against the model in f64. `objection` reports a failure on another kind of inputs, or
    the reason why a peer has no results. `moved` is the largest difference from the results of the
    previous stage, relative to the scales of the results. `nodes` has the errors of intermediate
    values.
    """

    stage: str
    differences: tuple[Difference, ...]
    seconds: float
    changed: bool = True
    judged: bool = True
    wide: tuple[Error, ...] = ()
    objection: str = ""
    moved: float = 0.0
    nodes: NodeErrors | None = None

    @property
    def error(self) -> float:
        """Return the worst error of all outputs, relative to their scales."""
        return worst(self.differences)

    def mark(self, tolerance: float, allowed: float) -> Mark:
        """Return the mark of the finding; `allowed` is the result of `allowed_error`."""
        if self.objection or not self.error <= allowed:
            return "wrong"
        return "ok" if self.error <= tolerance else "steps"


def allowed_error(tolerance: float, imported: Finding | None, in_codes: bool) -> float:
    """Return the allowed error of stages: the tolerance or, if larger, twice the model's own error.

    In a quantized model, a tie between two quantized values may round either way, so one step is
    always allowed. If the imported f32 model deviates from the f64 model by more than one step,
    other correct computations may deviate by an equal amount, up to `LARGEST_STEPS`.
    """
    itself = [2 * e.relative for e in imported.wide] if imported else []
    if in_codes:
        return max(tolerance, min(max([ONE_STEP, *itself]), LARGEST_STEPS))
    return max([tolerance, *(e for e in itself if e <= LARGEST_STEPS)])


def first_moved(findings: Sequence[Finding]) -> int | None:
    """Return the index of the first finding whose results differ from those of its predecessor."""
    return next((i for i, f in enumerate(findings) if f.moved > 0), None)


def first_wrong(findings: Sequence[Finding], allowed: float) -> int | None:
    """Return the index of the first judged finding that is wrong, or None."""
    return next(
        (i for i, f in enumerate(findings) if f.judged and f.mark(allowed, allowed) == "wrong"),
        None,
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """All findings on a model; `yardstick` names the reference, and `note` gives the reason for its
    choice.

    `narrow` names the nodes without an f64 form; their types stay unchanged in the f64 model.
    `rewrites` contains the judged rewrites, out of `n_rewrites`. `broken` describes a compiler bug
    that ended the passes, if any. `in_codes` marks models that round to integers of at most eight
    bits.
    """

    yardstick: str
    note: str
    findings: tuple[Finding, ...]
    tolerance: float
    program: Program | None
    narrow: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    rewrites: tuple[Judged, ...] = ()
    n_rewrites: int = 0
    broken: str = ""
    in_codes: bool = False

    @property
    def nodes(self) -> tuple[NodeErrors, ...]:
        """Return the errors of values after each pass that changed the graph, if requested."""
        later = (f for f in self.findings if f.changed and f.stage != IMPORTED)
        return tuple(f.nodes for f in later if f.nodes is not None)

    @property
    def allowed(self) -> float:
        """Return the allowed error of stages, as `allowed_error` defines it."""
        imported = self.findings[0] if self.findings else None
        return allowed_error(self.tolerance, imported, self.in_codes)

    @property
    def ok(self) -> bool:
        """Return whether findings and rewrites are within bounds, and no pass failed."""
        wrong = first_wrong(self.findings, self.allowed)
        return wrong is None and not self.broken and all(j.ok for j in self.rewrites)
