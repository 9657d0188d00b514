"""Payloads of a compiled program: memory, texts by level, provenance."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from app.wire import VERSION
from app.wire.identities import Identified
from app.wire.kernels import first_users
from app.wire.levels import ARROW, levels
from app.wire.shapes import Payload
from app.wire.shapes.jobs import LaunchOrder, Memory, Method, TypedName
from app.wire.shapes.stages import KernelPart, KernelText, OnnxNode, Provenance, ScheduleStep
from app.wire.texts import cut_text
from compiler.codegen.debug import Listings, listings
from compiler.codegen.listing import own_lines
from compiler.errors import CompileError
from compiler.figures import memory
from compiler.ir.graph import Value
from compiler.memory.account import fullest_step, handovers, live_by_step, used_by_step
from compiler.memory.buffer import Plan
from compiler.memory.orders import METHODS
from compiler.memory.orders.best import WINDOWS_WORDS
from compiler.memory.plan import find_planner
from compiler.runtime.program import Program
from compiler.runtime.thunks.kernels import KernelInfo
from compiler.runtime.thunks.launch_order import OrderEffect
from compiler.schedule.language.steps import steps
from compiler.schedule.language.text import parse_schedule
from compiler.targets.options import CodeOptions

T = TypeVar("T")
DOWNLOADS = ("graph", "loops", "llvm", "asm")


def typed(values: Iterable[Value]) -> list[TypedName]:
    """Return names with their types as text."""
    return [{"name": v.name, "type": str(v.type)} for v in values]


def texts(program: Program) -> Iterator[tuple[str, Payload]]:
    """Yield names and payloads of all texts except assembly; kernels with the same function share
    texts."""
    yield _download("graph", str(program.emit("graph")))
    if not program.kernels:
        return
    llvm = str(program.emit("llvm"))
    yield _download("llvm", llvm)
    yield _download("loops", str(program.emit("loops")))
    functions = split_llvm(llvm)
    for number, k in first_kernels(program):
        found: dict[KernelPart, str] = {
            "computation": str(k.computation) if k.computation else "",
            "schedule": "\n".join(k.moves),
            "loops": str(k.loops) if k.loops else "",
            "llvm": functions.get(k.symbol, ""),
        }
        for part, text in found.items():
            if text:
                payload = kernel_text(number, part, text)
                if part == "schedule":
                    payload["steps"] = schedule_steps(k, program)
                yield f"kernel-{number}-{part}", payload


def listings_of(program: Program) -> Listings:
    """Return the assembly of a program, also with debug locations; its generation is slow."""
    symbols = {k.symbol for k in program.kernels if k.symbol}
    return listings(str(program.emit("llvm")), symbols, program.target)


def assembly(program: Program, text: str) -> Iterator[tuple[str, Payload]]:
    """Yield names and payloads of a program's assembly, in total and by kernel."""
    yield _download("asm", text)
    functions = split_assembly(text)
    for number, k in first_kernels(program):
        if k.symbol in functions:
            yield f"kernel-{number}-asm", kernel_text(number, "asm", functions[k.symbol])


class _Download(Payload):
    text: str


def _download(kind: str, text: str) -> tuple[str, _Download]:
    return f"download-{kind}", {"version": VERSION, "text": text}


def first_kernels(program: Program) -> Iterator[tuple[int, KernelInfo]]:
    """Yield the native kernels; of several kernels with the same function, only the first."""
    first = first_users(program.kernels)
    for number, k in enumerate(program.kernels):
        if k.native and first[number] == number:
            yield number, k


def kernel_text(number: int, part: KernelPart, text: str) -> KernelText:
    """Return the text of a kernel at one level."""
    lines = text.rstrip("\n").split("\n")
    kept, cut = cut_text(lines)
    return {
        "version": VERSION,
        "kernel": number,
        "part": part,
        "text": kept,
        "n_lines": len(lines),
        "cut": cut,
        "steps": [],
    }


def schedule_steps(kernel: KernelInfo, program: Program) -> list[ScheduleStep]:
    """For each line of a schedule, return the effect of its move and the resulting loops."""
    assert kernel.computation is not None
    lines = parse_schedule("\n".join(kernel.moves))
    try:
        options = CodeOptions(program.target)
        made = steps(lines, kernel.computation, kernel.constants, options)
    except CompileError:
        return []  # sizes were replaced by numbers after scheduling
    return [{"words": s.move.words, "outline": s.outline} for s in made if s.move is not None]


_DEFINE = re.compile(r'^define\b[^@\n]*@(?:"([^"]+)"|([\w.$-]+))\(', re.MULTILINE)


def split_llvm(text: str) -> dict[str, str]:
    """Return the definition of each function of a module."""
    found: dict[str, str] = {}
    for match in _DEFINE.finditer(text):
        end = text.find("\n}", match.start())
        found[match[1] or match[2]] = text[match.start() : end + 2 if end >= 0 else len(text)]
    return found


_LABEL = re.compile(r"^(?!L(?:BB|CPI|JTI|tmp|func_)\w+:)([A-Za-z_$][\w.$]*):", re.MULTILINE)
"""The label of a function; the pattern excludes the local labels of Mach-O."""


def split_assembly(text: str) -> dict[str, str]:
    """Return the lines of each function, from its label to its end."""
    labels = list(_LABEL.finditer(text))
    ends = [m.start() for m in labels[1:]] + [len(text)]
    found = {m[1]: text[m.start() : end].rstrip() for m, end in zip(labels, ends, strict=True)}
    return {name: "\n".join(own_lines(body.split("\n"))) for name, body in found.items()}


def memory_row(program: Program) -> Memory:
    """Return the memory plan of the arena."""
    plan: Plan = program.memory
    return {
        "planner": planner_row(plan),
        "order": order_row(program.order_effect),
        **memory.plan_figures(plan),
        "n_steps": max((b.end for b in plan.buffers), default=0),
        "live_bytes": live_by_step(plan.buffers),
        "used_bytes": used_by_step(plan.buffers),
        "fullest_step": fullest_step(plan.buffers),
        "handovers": [
            {"before": h.before, "after": h.after, "n_bytes": h.n_bytes}
            for h in handovers(plan.buffers)
        ],
        "buffers": [
            {
                "buffer": number,
                "name": b.name,
                "start": b.start,
                "end": b.end,
                "offset": b.offset,
                "size": b.size,
                "values": list(b.values or (b.name,)),
            }
            for number, b in enumerate(plan.buffers)
        ],
    }


def planner_row(plan: Plan) -> Method | None:
    """Return the planner of a plan, with its description."""
    if not plan.planner:
        return None
    made_by = find_planner(plan.planner)
    return {"name": made_by.name, "words": made_by.words, "source": made_by.source}


def order_row(effect: OrderEffect | None) -> LaunchOrder | None:
    """Return the effect of reordering launches on memory; None if sizes are open."""
    if effect is None:
        return None
    found = effect.found
    return {
        "method": _method(found.method),
        "found_by": [_method(name) for name in found.found_by] if found.is_changed else [],
        "is_changed": found.is_changed,
        "is_taken": effect.is_taken,
        "is_lowest": found.is_lowest,
        "given_peak_bytes": found.given_bytes,
        "peak_bytes": found.peak_bytes,
        "given_arena_bytes": effect.given_arena_bytes,
        "arena_bytes": effect.arena_bytes,
        "given_live_bytes": list(found.given_live_bytes),
        "live_bytes": list(found.live_bytes),
    }


def _method(name: str) -> Method:
    return {"name": name, "words": METHODS[name].words if name in METHODS else WINDOWS_WORDS}


def provenance(
    stages: Mapping[int, Identified], program: Program, arrow: str = ARROW
) -> Provenance:
    """Map each ONNX node to the nodes of every stage, kernels, buffers and functions created from
    it."""
    rows: dict[str, OnnxNode] = {}

    def row(origin: str, op: str = "") -> OnnxNode:
        return rows.setdefault(
            origin,
            {
                "name": origin,
                "op": op,
                "nodes": {},
                "constants": {},
                "kernels": [],
                "buffers": [],
                "functions": [],
            },
        )

    for stage, now in stages.items():
        for level in levels(now, arrow):
            for node in level.graph.nodes:
                for origin in node.origins:
                    ids = row(origin, node.op)["nodes"].setdefault(str(stage), [])
                    _add(ids, level.node_id(node))
            for name, c in level.graph.constants.items():
                for origin in c.origins:
                    ids = row(origin)["constants"].setdefault(str(stage), [])
                    ids.append(level.id(name))
    for number, k in enumerate(program.kernels):
        for origin in k.origins:
            _add(row(origin)["kernels"], number)
            if k.symbol:
                _add(row(origin)["functions"], k.symbol)
    origins = {v: n.origins for n in program.graph.nodes for v in n.outputs if v}
    for number, b in enumerate(program.memory.buffers):
        for value in b.values or (b.name,):
            for origin in origins.get(value, ()):
                _add(row(origin)["buffers"], number)
    return {"version": VERSION, "onnx": list(rows.values())}


def _add(items: list[T], item: T) -> None:
    if item not in items:
        items.append(item)
