"""Programs and graphs as JSON for `compile --json`, `run --json` and `inspect --json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph, Node, all_nodes
from compiler.ir.operator import OPERATORS, Cost
from compiler.ir.types import TensorType
from compiler.machine.machine import Level, Machine
from compiler.machine.roofline import predicted
from compiler.memory.lifetimes import Step, join_lifetimes
from compiler.memory.plan import plan_memory
from compiler.memory.views import Views
from compiler.passes.engine.cost import reported_cost
from compiler.runtime.frame import in_memory
from compiler.runtime.program import Program
from compiler.runtime.thunks.select import view_source
from compiler.units import seconds_text


def program_json(program: Program, model: str) -> dict[str, Any]:
    """Return the result of a compilation as JSON data. Units: seconds, bytes, operations."""
    trace = program.trace
    memory = program.memory
    return {
        "ok": True,
        "model": model,
        "target": program.target.name,
        "is_open": program.is_open,
        "inputs": {v.name: str(v.type) for v in program.source.inputs},
        "outputs": {v.name: str(v.type) for v in program.source.outputs},
        "stages": [{"name": s.name, "seconds": s.seconds} for s in program.stages],
        "passes": [
            {
                "name": e.name,
                "changed": e.changed,
                "seconds": e.seconds,
                "n_nodes": len(e.after.nodes),
                "n_applied": sum(s.outcome == "applied" for s in e.steps),
                "n_declined": sum(s.outcome == "declined" for s in e.steps),
            }
            for e in (trace.events if trace else ())
        ],
        "kernels": [
            {
                "name": k.name,
                "native": k.native,
                "because": k.because,
                "origins": list(k.origins),
                "function": k.symbol,
                "flops": k.flops,
                "bytes_read": k.bytes_read,
                "bytes_written": k.bytes_written,
            }
            for k in program.kernels
        ],
        "memory": {
            "peak_bytes": memory.peak_bytes,
            "lower_bound_bytes": memory.lower_bound_bytes,
            "n_buffers": len(memory.buffers),
            "order": program.order.words if program.order else "",
            "limit": program.limited.words if program.limited else "",
        },
        "weight_bytes": program.weight_bytes,
        **making_json(program),
    }


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


@dataclass(frozen=True, slots=True)
class Facts:
    """The composition of a model, and the cost of one unoptimised run with one kernel per node.

    `macs`, `flops`, `peak_bytes` and `intensity` are None for open dimensions. `peak_bytes` is the
    size of a planned arena for the activations; `intensity` is operations per byte of traffic.
    """

    operators: Mapping[str, int]
    n_nodes: int
    n_parameters: int
    constant_bytes: int
    macs: int | None
    flops: int | None
    bytes_moved: int | None
    peak_bytes: int | None

    @property
    def intensity(self) -> float | None:
        """Return the arithmetic intensity: operations per byte of traffic."""
        if self.flops is None or not self.bytes_moved:
            return None
        return self.flops / self.bytes_moved


def graph_facts(graph: Graph) -> Facts:
    """Return facts about a graph before any pass."""
    operators = Counter(n.op for n in all_nodes(graph))
    weights = [c.type for c in graph.constants.values()]
    n_parameters = sum(t.n_elements for t in weights if t.dtype.is_float)
    stored = sum(t.nbytes for t in weights)
    common = dict(operators.most_common()), len(graph.nodes), n_parameters, stored
    costs = _costs(graph)
    if costs is None:
        return Facts(*common, None, None, None, None)
    flops = sum(c.flops for _, c in costs)
    return Facts(
        *common,
        sum(c.flops // 2 for n, c in costs if _is_contraction(n)),
        flops,
        sum(c.bytes_read + c.bytes_written for _, c in costs),
        _peak_bytes(graph),
    )


def _costs(graph: Graph) -> list[tuple[Node, Cost]] | None:
    """Return the nodes that have a cost, each with the cost; None if dimensions are open."""
    if not all(in_memory(v.type) for n in graph.nodes for v in n.values()):
        return None
    thunks = (n for n in graph.nodes if view_source(n, graph) is None)
    return [(n, reported_cost(n, graph.types)) for n in thunks]


def least_seconds(graph: Graph, machine: Machine) -> float | None:
    """Return a lower bound of a run's time with one kernel per node; None for open dimensions.

    Each node reads its bytes from the smallest cache that can contain them.
    """
    costs = _costs(graph)
    if costs is None:
        return None
    found = 0.0
    for _, c in costs:
        traffic: dict[Level, float] = {machine.level_of(c.bytes_moved): c.bytes_moved}
        found += predicted(c.flops, traffic, machine, machine.launch_seconds).seconds
    return found


def _is_contraction(node: Node) -> bool:
    operator = OPERATORS.get(node.op)
    return operator is not None and operator.kind == "contraction"


def _peak_bytes(graph: Graph) -> int:
    """Return the size of the arena for a graph's activations if each node is a kernel."""
    sources = {n.output: view_source(n, graph) for n in graph.nodes}
    inputs = {v.name for v in graph.inputs}
    views = {v: s for v, s in sources.items() if s is not None and s not in inputs}
    launched = [n for n in graph.nodes if n.output not in views]
    sizes = {
        v.name: v.type.nbytes
        for n in launched
        for v in n.values()
        if isinstance(v.type, TensorType)
    }
    steps = [
        Step(tuple(r for r in n.reads if r in sizes or r in views), tuple(filter(None, n.outputs)))
        for n in launched
    ]
    steps.append(
        Step(tuple(r.value for r in graph.results if r.value in sizes or r.value in views))
    )
    return plan_memory(join_lifetimes(steps, sizes, Views(views)).buffers).peak_bytes
