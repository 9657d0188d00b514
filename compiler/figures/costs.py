"""Figures of the work of a model before any pass: operations, traffic, memory, a lower bound."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.figures.figure import figure
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS, Cost
from compiler.ir.regions import close
from compiler.ir.types import TensorType
from compiler.machine.machine import Level, Machine
from compiler.machine.roofline import predicted
from compiler.memory.lifetimes import Step, join_lifetimes
from compiler.memory.plan import plan_memory
from compiler.memory.views import Views
from compiler.passes.engine.cost import reported_cost
from compiler.runtime.frame import in_memory
from compiler.runtime.thunks.kernels import n_steps
from compiler.runtime.thunks.select import view_source


class Work:
    """The costs of a model's nodes, as if each node were a kernel; None for open sizes."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        known = all(in_memory(v.type) for n in graph.nodes for v in n.values())
        self.costs = list(_costs(graph)) if known else None

    def total(self) -> Cost | None:
        """Return the cost of one run."""
        return None if self.costs is None else sum((c for _, c in self.costs), Cost())


def _costs(graph: Graph, times: int = 1) -> Iterator[tuple[Node, Cost]]:
    """Yield each node with its cost in one run; a node with regions has the cost of its regions."""
    for node in graph.nodes:
        if node.op == "fusion" or not node.regions:
            if view_source(node, graph) is None:
                c = reported_cost(node, graph.types)
                made = (c.flops * times, c.bytes_read * times, c.bytes_written * times)
                yield node, Cost(*made)
            continue
        steps = n_steps(node, graph)
        for region in node.regions.values():
            closed = close(region, graph.types, graph.constants).graph
            yield from _costs(closed, times * steps)


@figure("multiply-adds", "count", "inspect.macs")
def macs(work: Work) -> int | None:
    """The number of multiply-adds in the matrix products and convolutions of the imported model.

    It is half the operations of all contractions. All branches count; loop bodies count once per
    iteration if the number of iterations is known, else once.
    """
    if work.costs is None:
        return None
    return sum(c.flops // 2 for n, c in work.costs if _is_contraction(n))


@figure("operations of the model", "flop", "inspect.flops")
def model_flops(work: Work) -> int | None:
    """The number of arithmetic operations of one run of the imported model, before any pass.

    Each operator declares its operations. Passes may remove operations, so the operations of the
    program differ. All branches count; loop bodies count as for the multiply-adds.
    """
    total = work.total()
    return None if total is None else total.flops


@figure("traffic of the model", "B", "inspect.bytes_moved")
def bytes_moved(work: Work) -> int | None:
    """The bytes that one run reads and writes if each node of the imported model is a kernel.

    Each node reads its operands once and writes its results once; views move nothing.
    """
    total = work.total()
    return None if total is None else total.bytes_moved


@figure("intensity of the model", "flop/B", "inspect.intensity_flops_per_byte")
def intensity(work: Work) -> float | None:
    """The operations of the model per byte of its traffic.

    Fusion removes traffic and so increases the intensity.
    """
    total = work.total()
    return total.flops / total.bytes_moved if total and total.bytes_moved else None


@figure("memory of activations", "B", "inspect.peak_bytes")
def activation_bytes(work: Work) -> int | None:
    """The size of an arena for all values of the imported model if each node is a kernel.

    The memory planner plans the arena before any pass; a fused program needs a smaller arena. It is
    unknown for models with control flow, whose regions have memory of their own.
    """
    graph = work.graph
    regions = any(n.regions and n.op != "fusion" for n in graph.nodes)
    return None if work.costs is None or regions else _arena_of_nodes(graph)


@figure("lower bound, one kernel per node", "s", "inspect.least_seconds")
def bound_of_nodes(work: Work, machine: Machine) -> float | None:
    """A lower bound of the time of a run on this machine if each node of the model is a kernel.

    It is the sum of the roofline times of all nodes, plus a launch inside the run for each node.
    Each node reads its bytes from the smallest cache that can contain them.
    """
    if work.costs is None:
        return None
    found = 0.0
    for _, c in work.costs:
        traffic: dict[Level, float] = {machine.level_of(c.bytes_moved): c.bytes_moved}
        found += predicted(c.flops, traffic, machine, machine.launch_seconds).seconds
    return found


def _is_contraction(node: Node) -> bool:
    operator = OPERATORS.get(node.op)
    return operator is not None and operator.kind == "contraction"


def _arena_of_nodes(graph: Graph) -> int:
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
