"""End-to-end check of a model: import, passes, rewrites, program, and peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compiler.check.findings import Verdict
from compiler.check.stepwise import Wanted, begin_check
from compiler.check.yardstick import Run
from compiler.ir.graph import Graph
from compiler.options import Options, Progress
from compiler.passes.engine.known_rules import all_but
from compiler.targets.options import Schedules


def check_model(
    model: bytes | Path | Graph,
    *,
    pipeline: str = "default",
    precision: str = "f32",
    threads: int = 1,
    shapes: Mapping[str, Sequence[int]] | None = None,
    given: Mapping[str, Any] | None = None,
    peers: Mapping[str, Run] | None = None,
    wanted: Wanted | None = None,
    schedules: Schedules | None = None,
    without: Sequence[str] = (),
    tell: Progress = lambda step, event: None,
) -> Verdict:
    """Compare each pass's graph, each rewrite, the program and the peers with the yardstick.

    Inputs that are not in `given` are random; `shapes` has their shapes. The rules in `without` are
    disabled. If a graph has no ONNX form, our reference replaces onnx.reference. If a peer rejects
    the model with a CompileError, the check reports the error but does not fail.
    Errors: any error of reading or compiling the model.
    """
    options = Options(
        pipeline,
        threads=threads,
        precision=precision,
        schedules=schedules,
        gate=all_but(without),
    )
    check = begin_check(
        model, options, shapes=shapes, given=given, peers=peers, wanted=wanted, tell=tell
    )
    findings, program = [*check.stages()], None
    if not check.broken:
        program = check.compile()
        findings += [check.program(program), *check.peers(program, peers or {})]
    judged = tuple(check.rewrites())
    return Verdict(
        check.yardstick.name,
        check.yardstick.note,
        tuple(findings),
        check.wanted.tolerance,
        program,
        check.narrow,
        check.kinds,
        judged,
        len(check.rewrites_done.found),
        check.broken,
        check.in_codes,
    )
