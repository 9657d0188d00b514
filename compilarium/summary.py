"""Programs and graphs as JSON and text, for `compile`, `run`, `bench` and `inspect`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from compiler.figures import execution, memory, models, passes
from compiler.ir.graph import Graph
from compiler.runtime.program import Program
from compiler.trace import Event
from compiler.units import count_text, percent_text, seconds_text


def program_json(program: Program, model: str) -> dict[str, Any]:
    """Return the result of a compilation as JSON data. Units: seconds, bytes, operations."""
    events = pass_events(program)
    predictions = program.predictions
    return {
        "ok": True,
        "model": model,
        "target": program.target.name,
        "is_open": program.is_open,
        "inputs": {v.name: str(v.type) for v in program.source.inputs},
        "outputs": {v.name: str(v.type) for v in program.source.outputs},
        "stages": [{"name": s.name, "seconds": s.seconds} for s in program.stages],
        "passes": [_pass_json(e) for e in events],
        "n_changed": passes.n_changed(events),
        "passes_seconds": passes.passes_seconds(events),
        "passes_verify_seconds": passes.passes_verify_seconds(events),
        "kernels": [
            {
                "name": k.name,
                "native": k.native,
                "because": k.because,
                "origins": list(k.origins),
                "inside": k.inside or None,
                "function": k.symbol,
                "flops": execution.kernel_flops(k),
                "bytes_read": k.bytes_read,
                "bytes_written": k.bytes_written,
                "bytes": execution.kernel_bytes(k),
                "predicted_s": execution.kernel_bound(predictions.get(k.name)),
            }
            for k in program.kernels
        ],
        **_execution(program),
        "predicted_s": execution.kernels_bound(program.kernels, predictions),
        "memory": {
            **memory.plan_figures(program.memory),
            "order": program.order.words if program.order else "",
            "limit": program.limited.words if program.limited else "",
        },
        "weight_bytes": memory.weight_bytes(program),
        **making_json(program),
    }


def pass_events(program: Program) -> list[Event]:
    """Return the events of passes, without the steps of memory planning."""
    planned = (program.limited, program.order)
    events = program.trace.events if program.trace else []
    return [e for e in events if not any(e is p for p in planned)]


def _execution(program: Program) -> Mapping[str, Any]:
    """Return the division of a run into native code and fallbacks; None for unknown figures."""
    found = execution.execution(program.kernels)
    return dict.fromkeys(found) if program.is_open else found


def _pass_json(e: Event) -> dict[str, Any]:
    return {
        "name": e.name,
        "changed": e.changed,
        "seconds": passes.pass_seconds(e),
        "verify_seconds": passes.verify_seconds(e),
        **composition(e.after),
        "n_applied": passes.n_applied(e.steps),
        "n_declined": passes.n_declined(e.steps),
    }


def composition(graph: Graph) -> dict[str, Any]:
    """Return the figures of a graph's composition that change from pass to pass."""
    return {
        "n_nodes": models.n_nodes(graph),
        "n_constants": models.n_constants(graph),
        "constant_bytes": models.constant_bytes(graph),
        "value_bytes": models.value_bytes(graph),
    }


def running_json(program: Program) -> dict[str, Any]:
    """Return the numbers of launches, fallbacks and kernels inside control flow."""
    found = execution.execution(program.kernels)
    return {name: found[name] for name in ("n_native", "n_inside", "n_fallback")}


def running_text(n: Mapping[str, Any]) -> str:
    """Describe the launches and fallbacks: `7 launches of generated code, 0 fallbacks`."""
    native = count_text(n["n_native"], "launch") + " of generated code"
    inside = f" ({count_text(n['n_inside'], 'kernel')} inside control flow)"
    return f"{native}{inside if n['n_inside'] else ''}, {count_text(n['n_fallback'], 'fallback')}"


def share_text(n: Mapping[str, Any]) -> str:
    """Describe the operations of a run and the share in machine code; "" without operations."""
    if n["n_uncounted"]:
        unknown = count_text(n["n_uncounted"], "fallback")
        return f"Share of native operations: unknown, since {unknown} declare no operations."
    if n["native_share"] is None:
        return ""
    return f"{percent_text(n['native_share'])} of {n['flops']:,} operations are native."


def making_json(program: Program) -> dict[str, Any]:
    """Return how sizes are handled, and the times and reasons of code generation at run time."""
    return {
        "serves_all_sizes": program.serves_all_sizes,
        "notes": list(program.notes),
        "specializations": [
            {
                "shapes": {k: list(v) for k, v in s.shapes.items()},
                "parameters": {k: v.tolist() for k, v in s.parameters.items()},
                "seconds": s.seconds,
                "because": s.because,
            }
            for s in program.specializations
        ],
    }


def making_lines(making: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines about code generation; no lines for a program compiled once for known sizes."""
    yield from making["notes"]
    for s in making["specializations"]:
        yield f"code generated at run time, in {seconds_text(s['seconds'])}: {s['because']}"
