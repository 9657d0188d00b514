"""A parser for the printed form of a plan; see compiler/memory/buffer.py for the form."""

from __future__ import annotations

import json
import re

from compiler.errors import CompileError, Where
from compiler.memory.buffer import Buffer, Plan
from compiler.memory.problem import check_problem, is_power_of_two

_NAME = r'(?:"(?:[^"\\]|\\.)*"|[A-Za-z_][\w.]*)'
_HELD = rf"{_NAME}(?:@\d+)?"
_HEAD = re.compile(r"plan (\d+) bytes, alignment (\d+) \{\Z")
_LINE = re.compile(
    rf"(?P<name>{_NAME}): (?P<size>\d+) bytes(?: at (?P<offset>\d+))?, "
    rf"live (?P<start>\d+)\.\.(?P<end>\d+)(?:, aligned to (?P<alignment>\d+))?"
    rf"(?:, pinned to (?P<pinned>\d+))?(?:, shares (?P<shares>{_NAME}))?"
    rf"(?:, holds (?P<held>{_HELD}(?: {_HELD})*))?\Z"
)


def parse_plan(text: str) -> Plan:
    """Parse the output of `str(plan)`, and check its total.

    Errors: E-TEXT-SYNTAX, E-PLAN-INPUT.
    """
    lines = [(n, line.strip()) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise CompileError("E-TEXT-SYNTAX", "expected a plan, got no text")
    head = _HEAD.match(lines[0][1])
    if head is None or lines[-1][1] != "}" or len(lines) < 2 or not is_power_of_two(int(head[2])):
        raise CompileError(
            "E-TEXT-SYNTAX",
            f"expected `plan N bytes, alignment N {{ ... }}`, got {lines[0][1][:60]!r}",
            where=Where("plan", lines[0][0], 1),
        )
    buffers = tuple(_parse_line(n, line) for n, line in lines[1:-1])
    check_problem(buffers, int(head[2]))
    plan = Plan(buffers, int(head[2]))
    if plan.peak_bytes != int(head[1]):
        raise CompileError(
            "E-PLAN-INPUT",
            f"the buffers need {plan.peak_bytes} bytes, but the plan states {head[1]}",
            where=Where("plan", lines[0][0], 1),
        )
    return plan


def _unquote(text: str) -> str:
    return json.loads(text) if text.startswith('"') else text


def _parse_line(number: int, line: str) -> Buffer:
    match = _LINE.match(line)
    if match is None:
        raise CompileError(
            "E-TEXT-SYNTAX",
            f"expected `name: N bytes at N, live N..N`, got {line[:80]!r}",
            where=Where("plan", number, 1),
        )
    found = match.groupdict()
    held = re.findall(rf"({_NAME})(?:@(\d+))?", found["held"] or "")
    starts = tuple(int(start or 0) for _, start in held)
    return Buffer(
        _unquote(found["name"]),
        int(found["size"]),
        int(found["start"]),
        int(found["end"]),
        int(found["offset"] or -1),
        tuple(_unquote(value) for value, _ in held),
        int(found["alignment"] or 1),
        int(found["pinned"] or -1),
        _unquote(found["shares"] or ""),
        starts if any(starts) else (),
    )
