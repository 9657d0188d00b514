"""Runs within limits: the time is estimated before a run, and a run can stop between launches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compiler.codegen.jit import Library
from compiler.codegen.module import Launch
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS
from compiler.limits import check_seconds, has_deadline
from compiler.machine.keep import machine_of
from compiler.ops.control_flow.loop_form import LoopForm, loop_form
from compiler.runtime.built import Built
from compiler.runtime.executable import Executable
from compiler.runtime.frame import Run
from compiler.runtime.predict import predictions
from compiler.runtime.profile import launchers
from compiler.runtime.thunks.kernels import KernelInfo
from compiler.targets.target import Target


def run_within(built: Built, executable: Executable, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Run kernel by kernel; return the results. Errors: E-LIMIT-SECONDS, E-RUN-MEMORY."""
    check_launches(built.kernels, built.graph, built.plan.peak_bytes, built.target, built.threads)
    launch = stoppable(executable, built.kernels, built.library, built.launches)
    return executable.timed(inputs, launch, sum(not k.inside for k in built.kernels))[1]


def check_launches(
    kernels: Sequence[KernelInfo], graph: Graph, arena_bytes: int, target: Target, threads: int
) -> None:
    """Reject launches that cannot end before the deadline. Errors: E-LIMIT-SECONDS."""
    if not has_deadline():
        return
    found = predictions(kernels, graph, arena_bytes, machine_of(target), 0.0)
    around = {k.inside for k in kernels}
    leaves = [k for k in kernels if k.name not in around]
    seconds = sum(found[k.name].seconds for k in leaves if k.name in found) / threads
    operations = sum(k.flops for k in leaves)
    check_seconds(seconds, f"a run of {len(leaves):,} kernels takes {operations:,} operations")


def stoppable(
    executable: Executable,
    kernels: Sequence[KernelInfo],
    library: Library,
    launches: Mapping[int, Launch],
) -> Callable[[int, Run, int], None]:
    """Return a function that launches a kernel by number; a deadline stops endless kernels.

    Native code cannot be interrupted, and a loop of unknown trip count may never end.
    """
    calls = launchers(library, launches)
    graph = executable.graph
    endless: dict[int, Node] = {}
    if has_deadline():
        launched = [k for k in kernels if not k.inside]
        nodes = {n: graph.producers.get(k.writes[0]) for n, k in enumerate(launched) if k.writes}
        endless = {n: x for n, x in nodes.items() if x is not None and _may_not_end(x, graph)}

    def launch(number: int, run: Run, constants: int) -> None:
        if number in endless:
            executable.by_reference(endless[number], run)
        else:
            calls[number](run, constants)

    return launch


def _may_not_end(node: Node, graph: Graph) -> bool:
    """Return whether a node contains a loop with a trip count that is known at run time only."""
    operator = OPERATORS.get(node.op)
    if operator is not None and not operator.bounded:
        return True
    if node.op == "onnx.Loop":
        form = loop_form(node, graph)
        if not isinstance(form, LoopForm) or form.n_steps is None:
            return True
    return any(_may_not_end(n, g) for g in node.regions.values() for n in g.nodes)
