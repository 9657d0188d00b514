"""Value by value: those that keep their name from pass to pass, against what they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compiler.check.errors import Error, error_of
from compiler.check.judge import same_bits
from compiler.check.margins import evaluated
from compiler.check.widen import wide_feeds, widened
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import Graph, Result
from compiler.ir.types import TensorType
from compiler.targets.memory import machine_bytes


@dataclass(frozen=True, slots=True)
class NodeErrors:
    """The errors of the values of one stage that the model has too, in order of computation."""

    stage: str
    errors: tuple[Error, ...]
    tolerance: float

    @property
    def first_wrong(self) -> Error | None:
        """The first value whose error is beyond the tolerance."""
        return next((e for e in self.errors if not e.relative <= self.tolerance), None)


class ByName:
    """What the model computes under each name: in its own types, and in f64."""

    def __init__(self, graph: Graph, feeds: Mapping[str, Any]) -> None:
        self.feeds = feeds
        names = [n for n in graph.types if n not in graph.constants]
        self.own = evaluated(_showing(graph, names), feeds)
        wide = widened(graph).graph
        self.wide = evaluated(_showing(wide, names), wide_feeds(feeds))

    def errors(self, stage: str, graph: Graph, tolerance: float) -> NodeErrors:
        """The errors of a later graph's values; a value as far off as it always was has none.

        Errors: E-RUN-*.
        """
        names = [n for node in graph.nodes for n in node.outputs if n in self.own]
        made = evaluated(_showing(graph, names), self.feeds)
        found = (self._error(name, made[name]) for name in names)
        return NodeErrors(stage, tuple(e for e in found if e is not None), tolerance)

    def _error(self, name: str, made: Any) -> Error | None:
        if isinstance(made, np.ndarray) and np.shape(made) != np.shape(self.own[name]):
            return Error(name, np.inf, np.inf, np.inf)
        error = error_of(name, made, self.wide[name])
        if error is None or same_bits(made, self.own[name]):
            before = error_of(name, self.own[name], self.wide[name])
            return None if before is None or not np.isfinite(before.relative) else before
        # Rounding decided otherwise (a comparison, an overflow): the model's own answer is right.
        other = error_of(name, made, self.own[name])
        return error if other is None or error.relative <= other.relative else other


def fits_in_memory(graph: Graph) -> bool:
    """Whether all values of a graph can be kept, in its own types and in f64."""
    sizes = (t.nbytes for t in graph.types.values() if isinstance(t, TensorType) and t.is_static)
    return 3 * sum(sizes) < machine_bytes() // 3


def by_node(
    source: Graph, feeds: Mapping[str, Any], stages: Sequence[tuple[str, Graph]], tolerance: float
) -> list[NodeErrors]:
    """The errors by value of each stage; none for a stage that cannot be computed."""
    names, found = ByName(source, feeds), []
    for stage, graph in stages:
        try:
            found.append(names.errors(stage, graph, tolerance))
        except CompileError:
            continue
    return found


def _showing(graph: Graph, names: Sequence[str]) -> Graph:
    """The graph with these values as results, under their own names."""
    results = tuple(Result(name, name) for name in dict.fromkeys(names))
    return Graph(graph.name, graph.inputs, results, graph.nodes, graph.constants)
