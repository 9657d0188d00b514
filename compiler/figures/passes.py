"""Figures of passes and of their rewrites: time, numbers of steps, savings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from compiler.figures.figure import figure
from compiler.figures.models import constant_bytes, value_bytes
from compiler.ir.graph import Graph
from compiler.ir.operator import Cost
from compiler.ir.types import TensorType
from compiler.machine.machine import Level, Machine
from compiler.machine.roofline import predicted
from compiler.passes.engine.cost import bytes_saved
from compiler.trace import Event, Step


class Supply(NamedTuple):
    """A machine, and the memory level that supplies the values of a graph."""

    machine: Machine
    level: Level

    def seconds(self, cost: Cost) -> float:
        """Return the roofline time of a cost on one core, without a launch."""
        traffic: dict[Level, float] = {self.level: cost.bytes_moved}
        return predicted(cost.flops, traffic, self.machine, 0.0).roof_seconds


def supply_of(graph: Graph, machine: Machine) -> Supply:
    """Return the smallest level that holds all values of a graph; DRAM while a size is open."""
    values = value_bytes(graph)
    inputs = [v.type for v in graph.inputs]
    if values is None or not all(isinstance(t, TensorType) and t.is_static for t in inputs):
        return Supply(machine, "DRAM")
    read = sum(t.nbytes for t in inputs if isinstance(t, TensorType))
    return Supply(machine, machine.level_of(values + constant_bytes(graph) + read))


@figure("time of a pass", "s", "compile.passes[].seconds", "result.stages[].seconds")
def pass_seconds(event: Event) -> float:
    """The time that a pass took, without verification and without recording its result.

    It is wall-clock time.
    """
    return event.seconds


@figure(
    "time of verification", "s", "compile.passes[].verify_seconds", "result.stages[].verify_seconds"
)
def verify_seconds(event: Event) -> float:
    """The time to check the graph after a pass: types, order of nodes, regions.

    A graph that the pass has not changed is not checked again.
    """
    return event.verify_seconds


@figure("passes that changed the graph", "count", "compile.n_changed = result.passes.n_changed")
def n_changed(events: Iterable[Event]) -> int:
    """The number of passes whose result differs from their input.

    A pass that runs twice in the pipeline counts twice.
    """
    return sum(event.changed for event in events)


@figure("time in all passes", "s", "compile.passes_seconds", "result.passes.seconds")
def passes_seconds(events: Iterable[Event]) -> float:
    """The sum of the times of all passes.

    The phase `passes` of a compilation takes longer: it also verifies every graph and, on the
    server, records every graph for the page.
    """
    return sum(map(pass_seconds, events))


@figure(
    "time in all verifications",
    "s",
    "compile.passes_verify_seconds",
    "result.passes.verify_seconds",
)
def passes_verify_seconds(events: Iterable[Event]) -> float:
    """The sum of the times of verification after all passes.

    The time in all passes does not include this time.
    """
    return sum(map(verify_seconds, events))


@figure("rewrites applied", "count", "compile.passes[].n_applied = result.stages[passes].n_applied")
def n_applied(steps: Sequence[Step]) -> int:
    """The number of rewrites that a pass applied.

    Each rewrite is one step of the trace, with its rule, its reason, and its nodes.
    """
    return sum(s.outcome == "applied" for s in steps)


@figure(
    "rewrites declined", "count", "compile.passes[].n_declined = result.stages[passes].n_declined"
)
def n_declined(steps: Sequence[Step]) -> int:
    """The number of rewrites that a pass considered and rejected, each with a reason.

    Nodes that match no rule do not count.
    """
    return sum(s.outcome == "declined" for s in steps)


@figure("operations saved", "flop", "steps[].saves.flops")
def saved_flops(step: Step) -> int | None:
    """The operations of the nodes that a rewrite matched, minus those of the nodes that it created.

    Operators declare their operations. It is unknown for open sizes.
    """
    a, b = step.cost_before, step.cost_after
    return None if a is None or b is None else a.flops - b.flops


@figure("traffic saved", "B", "steps[].saves.bytes")
def saved_bytes(step: Step) -> int | None:
    """The bytes read and written by matched nodes, minus those of the created nodes.

    Not storing a value saves a write and a read, about twice its size. So the savings of all steps
    do not add up to the change of the bytes of all values.
    """
    return bytes_saved(step.cost_before, step.cost_after)


@figure("time saved, estimated", "s", "steps[].saves.seconds")
def saved_seconds(step: Step, supply: Supply) -> float | None:
    """The estimated time of the matched nodes minus that of the created nodes, without launches.

    The estimate is a roofline time on one core. Values lie in the smallest cache that
    can hold all values of the graph before the pass, or in DRAM if no cache can.
    """
    a, b = step.cost_before, step.cost_after
    return None if a is None or b is None else supply.seconds(a) - supply.seconds(b)
