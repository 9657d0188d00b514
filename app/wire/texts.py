"""Payloads of the texts of graphs and kernels; very long texts are truncated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from app.wire import VERSION
from app.wire.identities import Identified
from app.wire.levels import ARROW, Level
from app.wire.shapes.stages import Span, StageText
from app.wire.shapes.targets import KernelLevels
from compiler.ir import text as ir_text

if TYPE_CHECKING:
    from compiler.runtime.kernel_code import Code  # imports llvmlite, which no page has

LINES_KEPT = 20_000
LINE_CHARACTERS = 2_000
LEVELS = ("schedule", "loops", "llvm", "asm")


def cut_text(lines: Sequence[str]) -> tuple[str, int]:
    """Return at most `LINES_KEPT` lines, each shortened, and the number of omitted lines."""
    kept = [shortened(line, LINE_CHARACTERS) for line in lines[:LINES_KEPT]]
    return "\n".join(kept), len(lines) - len(kept)


def shortened(text: str, limit: int) -> str:
    """Return the text; if it exceeds the limit, omit its middle."""
    if len(text) <= limit:
        return text
    half = (limit - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


def stage_text(stage: int, graph_stage: int, now: Identified, arrow: str = ARROW) -> StageText:
    """Return a stage's graph as text, and the lines of each node or constant by id.

    The spans inside the span of a control-flow node follow it.
    """
    lines = str(now.graph).split("\n")
    spans = list(_spans(Level.of(now, arrow), 0))
    text, cut = cut_text(lines)
    kept = len(lines) - cut
    return {
        "version": VERSION,
        "stage": stage,
        "graph_stage": graph_stage,
        "n_lines": len(lines),
        "cut": cut,
        "text": text,
        "spans": [s for s in spans if s[0] < kept],
    }


def _spans(level: Level, start: int) -> Iterator[Span]:
    """Yield the spans of the constants and nodes of a level; its text starts at line `start`."""
    at = start + 1
    for name in level.graph.constants:
        yield at, 1, level.id(name)
        at += 1
    for node in level.graph.nodes:
        n_lines = sum(1 for _ in ir_text.node_lines(node))
        yield at, n_lines, level.node_id(node)
        inner = at + 1
        for body in level.inside(node):
            yield from _spans(body, inner)
            inner += str(body.graph).count("\n") + 1
        at += n_lines


def code_levels(code: Code) -> KernelLevels:
    """Return the texts of a kernel at each level, with the links between their lines."""
    levels = (code.schedule, code.loops, code.llvm, code.asm)
    (schedule, loops, llvm, asm), cut = zip(*(cut_text(x.split("\n")) for x in levels), strict=True)
    return {
        "schedule": schedule,
        "loops": loops,
        "llvm": llvm,
        "asm": asm,
        "cut": sum(cut),
        "links": {
            "llvm": list(code.llvm_lines[:LINES_KEPT]),
            "asm": list(code.asm_lines[:LINES_KEPT]),
        },
    }
