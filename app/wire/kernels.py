"""Payloads of a program's kernels, and of the division of a run into native code and fallbacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from app.wire.graphs import family, operator_family
from app.wire.identities import Identified
from app.wire.levels import ARROW, Level
from app.wire.shapes.jobs import Kernel, Running
from app.wire.shapes.stages import KernelPart
from compiler.figures import execution
from compiler.figures.memory import weight_bytes
from compiler.ir.graph import Node
from compiler.runtime.program import Program
from compiler.runtime.thunks.kernels import KernelInfo

KERNEL_PARTS: tuple[KernelPart, ...] = get_args(KernelPart)


def kernel_rows(program: Program, last: Identified, arrow: str = ARROW) -> list[Kernel]:
    """Return kernels without times: launches and fallbacks in run order, then kernels inside
    launches. `last` is the program's graph."""
    kernels = program.kernels
    top = Level.of(last, arrow)
    first = first_users(kernels)
    numbers = {k.name: i for i, k in enumerate(kernels)}
    predictions = program.predictions
    rows: list[Kernel] = []
    for number, k in enumerate(kernels):
        launched = _launched(k, kernels, numbers)
        around = top.graph.producers.get(launched.writes[0]) if launched.writes else None
        level, node = _place(k, around, top)
        prediction = predictions.get(k.name)
        rows.append(
            {
                "kernel": number,
                "name": k.name,
                "op": k.op,
                "node": _node_id(level, node or around),
                "origins": list(k.origins),
                "inside": numbers[k.inside] if k.inside else None,
                "region": level.way[1] if level.way else "",
                "native": k.native,
                "words": k.because or (family(node) if node else operator_family(k.op)),
                "function": k.symbol,
                "flops": execution.kernel_flops(k),
                "bytes_read": k.bytes_read,
                "bytes_written": k.bytes_written,
                "bytes": execution.kernel_bytes(k),
                "predicted_s": execution.kernel_bound(prediction),
                "bound": prediction.bound if prediction else "",
                "median_s": None,
                "min_s": None,
                "low_s": None,
                "high_s": None,
                "gflops": None,
                "gbytes_per_s": None,
                "parts": _parts(k),
                "text_kernel": first[number],
            }
        )
    return rows


def _launched(k: KernelInfo, kernels: Sequence[KernelInfo], numbers: dict[str, int]) -> KernelInfo:
    """Return the launch of a kernel, or the launch that contains the kernel."""
    while k.inside:
        k = kernels[numbers[k.inside]]
    return k


def _place(k: KernelInfo, around: Node | None, top: Level) -> tuple[Level, Node | None]:
    """Return the node of a kernel, and its level; None for an inner kernel without a node of its
    own."""
    if not k.inside or around is None or not k.writes:
        return top, around
    for level, node in _inner_nodes(top, around):
        # Values of different branches may have equal names.
        if (node.op, node.origins) == (k.op, k.origins) and k.writes[0] in node.outputs:
            return level, node
    return top, None


def _node_id(level: Level, node: Node | None) -> str:
    return level.node_id(node) if node is not None else ""


def _inner_nodes(level: Level, node: Node) -> Iterator[tuple[Level, Node]]:
    for body in level.inside(node):
        for inner in body.graph.nodes:
            yield body, inner
            yield from _inner_nodes(body, inner)


def _parts(k: KernelInfo) -> list[KernelPart]:
    """Return the levels at which a kernel has a text; a control-flow node has no Loop IR text.

    A kernel whose schedule has no moves has no schedule text.
    """
    if not k.native or not k.symbol:
        return []
    of_loops = k.loops is not None
    there = {"computation": of_loops, "schedule": of_loops and bool(k.moves), "loops": of_loops}
    return [p for p in KERNEL_PARTS if there.get(p, True)]


def first_users(kernels: Sequence[KernelInfo]) -> list[int]:
    """For each kernel, return the first kernel with the same function, usually itself."""
    first: dict[str, int] = {}
    return [first.setdefault(k.symbol, i) if k.symbol else i for i, k in enumerate(kernels)]


def running_row(program: Program) -> Running:
    """Return the division of a run into native code and fallbacks, and the specialisations."""
    return {
        **execution.execution(program.kernels),
        "predicted_s": execution.kernels_bound(program.kernels, program.predictions),
        "weight_bytes": weight_bytes(program),
        "serves_all_sizes": program.serves_all_sizes,
        "notes": list(program.notes),
        "specializations": [
            {
                "shapes": {name: list(dims) for name, dims in s.shapes.items()},
                "parameters": {name: str(v.tolist()) for name, v in s.parameters.items()},
                "seconds": s.seconds,
                "because": s.because,
            }
            for s in program.specializations
        ],
    }
