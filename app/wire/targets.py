"""Payloads of a kernel's code for several machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.wire import VERSION
from app.wire.shapes.targets import TargetCode, TargetRow, Targets
from app.wire.texts import code_levels
from compiler.codegen.listing import CLASSES
from compiler.runtime.kernel_code import Code
from compiler.targets.target import Target


def part_of(target: str) -> str:
    """Return the name of the stored part with the code for a target."""
    return f"target-{target}"


def summary(request: Mapping[str, Any], name: str) -> Targets:
    """Return the facts known before code generation; `rows` later gets a row for each target."""
    return {
        "version": VERSION,
        "job": request["job"],
        "kernel": request["kernel"],
        "name": name,
        "classes": [{"name": k, "words": words} for k, words in CLASSES.items()],
        "rows": [],
    }


def row(target: Target, seconds: float, made: Code | None, because: str = "") -> TargetRow:
    """Return the row of a target; if there is no code, the row has the reason."""
    counts = made.counts if made else None
    return {
        "target": target.name,
        "triple": target.triple,
        "vector_bytes": target.vector_bytes,
        "n_vector_registers": target.n_vector_registers,
        "seconds": seconds,
        "because": because,
        "counts": counts.by_class if counts else {},
        "n_instructions": counts.n_instructions if counts else None,
        "widest_bytes": counts.widest_bytes if counts else None,
        "n_registers": counts.n_registers if counts else None,
        "n_spills": counts.n_spills if counts else None,
        "n_bytes": made.n_bytes if made else None,
    }


def code(target: Target, kernel: int, made: Code) -> TargetCode:
    """Return the texts of a kernel for a target, with the links between their lines."""
    levels = code_levels(made)
    return {"version": VERSION, "target": target.name, "kernel": kernel, **levels}
