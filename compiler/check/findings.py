"""What a check finds: one way to compute the model after another, and the verdict on all."""

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
"""Above this, relative to the scale, no difference is taken for the steps of a quantized model."""

ONE_STEP = 1 / 127
"""A step between codes of eight bits, relative to the largest number that they stand for."""

IMPORTED = "imported"
"""The stage of the graph as it was read."""

Mark = Literal["ok", "steps", "wrong"]
"""Within the tolerance, within what is allowed besides, or neither."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One way to compute the model compared with the yardstick.

    `stage` is a graph (`imported`, or the pass after which it was taken) evaluated by our
    reference, `program` for the compiled one, a peer's name, or `program and` a peer's name for
    these two compared with each other. What is not `judged` is told and does not fail the check: a
    peer is not ours, and one that is itself far from the yardstick proves nothing. `wide` are the
    errors against the model in f64. `objection` says what inputs of another kind brought to light,
    or why a peer gives no results. `moved` is how far results are from those of the stage before,
    relative to their scales: 0 where all are the same numbers. `nodes` has the values by name.
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
        """The worst error of all outputs, relative to their scales."""
        return worst(self.differences)

    def mark(self, tolerance: float, allowed: float) -> Mark:
        """What is to be thought of it: see `allowed_error`."""
        if self.objection or not self.error <= allowed:
            return "wrong"
        return "ok" if self.error <= tolerance else "steps"


def allowed_error(tolerance: float, imported: Finding | None, in_codes: bool) -> float:
    """What stages may be off by: the tolerance, or twice what rounding does to the model.

    A quantized model rounds in steps, and a number half way between two codes may go either way:
    one step is always allowed. Where its own meaning in f32 (`imported`) is further from that in
    f64, another right way to compute it may be so too, up to `LARGEST_STEPS`.
    """
    itself = [2 * e.relative for e in imported.wide] if imported else []
    if in_codes:
        return max(tolerance, min(max([ONE_STEP, *itself]), LARGEST_STEPS))
    return max([tolerance, *(e for e in itself if e <= LARGEST_STEPS)])


def first_moved(findings: Sequence[Finding]) -> int | None:
    """Which finding is the first whose numbers are not those of the one before."""
    return next((i for i, f in enumerate(findings) if f.moved > 0), None)


def first_wrong(findings: Sequence[Finding], allowed: float) -> int | None:
    """Which finding is the first that is judged and wrong."""
    return next(
        (i for i, f in enumerate(findings) if f.judged and f.mark(allowed, allowed) == "wrong"),
        None,
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """All findings on one model. `yardstick` says what they were compared with, `note` why.

    `narrow` names the nodes that the f64 form of the model left as they were. `rewrites` are those
    that were judged, of `n_rewrites`. `broken` is a bug of ours that ended the passes. `in_codes`
    are models that round to whole numbers of eight bits or fewer.
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
        """The values by name after each pass that changed the graph, where that was asked for."""
        later = (f for f in self.findings if f.changed and f.stage != IMPORTED)
        return tuple(f.nodes for f in later if f.nodes is not None)

    @property
    def allowed(self) -> float:
        """What stages may be off by: see `allowed_error`."""
        imported = self.findings[0] if self.findings else None
        return allowed_error(self.tolerance, imported, self.in_codes)

    @property
    def ok(self) -> bool:
        """Whether every finding is within what is allowed, and every rewrite within its budget."""
        wrong = first_wrong(self.findings, self.allowed)
        return wrong is None and not self.broken and all(j.ok for j in self.rewrites)
