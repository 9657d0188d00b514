"""Comparison of intermediate values with the model's values, for names that passes retain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compiler.check.errors import Error, error_of
from compiler.check.judge import same_bits
from compiler.check.values import StageValues
from compiler.check.widen import Wide, wide_feeds, widened
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.types import TensorType
from compiler.ops.evaluation.meaning import evaluate_graph
from compiler.targets.memory import machine_bytes


@dataclass(frozen=True, slots=True)
class NodeErrors:
    """The errors of the values that a stage and the model have in common, in order of computation.

    `moved` names the values that differ from the model's values. `n_values` counts all values of
    the stage, including values with new names.
    """

    stage: str
    errors: tuple[Error, ...]
    tolerance: float
    moved: frozenset[str] = frozenset()
    n_values: int = 0

    @property
    def first_wrong(self) -> Error | None:
        """Return the first value whose error exceeds the tolerance."""
        return next((e for e in self.errors if not e.relative <= self.tolerance), None)


@dataclass(frozen=True, slots=True)
class ByName:
    """The values of the model by name, in their original types and in f64."""

    own: Mapping[str, Any]
    wide: Mapping[str, Any]

    def errors(
        self, stage: str, graph: Graph, made: Mapping[str, Any], tolerance: float
    ) -> NodeErrors:
        """Return the errors of the values of a later graph.

        Each error is measured against the f64 value or the model's value, whichever is closer.
        Infinite errors that the model also has are omitted.
        """
        computed = [n for node in graph.nodes for n in node.outputs if n]
        names = [n for n in computed if n in self.own and n in self.wide]
        found = (self._error(name, made[name]) for name in names)
        moved = frozenset(n for n in names if not same_bits(made[n], self.own[n]))
        errors = tuple(e for e in found if e is not None)
        return NodeErrors(stage, errors, tolerance, moved, len(computed))

    def _error(self, name: str, made: Any) -> Error | None:
        if isinstance(made, np.ndarray) and np.shape(made) != np.shape(self.own[name]):
            return Error(name, np.inf, np.inf, np.inf)
        error = error_of(name, made, self.wide[name])
        if error is None or same_bits(made, self.own[name]):
            before = error_of(name, self.own[name], self.wide[name])
            return None if before is None or not np.isfinite(before.relative) else before
        # Rounding may change a comparison or an overflow, so the model's value is also correct.
        other = error_of(name, made, self.own[name])
        return error if other is None or error.relative <= other.relative else other


def fits_in_memory(graph: Graph) -> bool:
    """Return whether all values of a graph, in their types and in f64, fit in memory."""
    sizes = (t.nbytes for t in graph.types.values() if isinstance(t, TensorType) and t.is_static)
    return 3 * sum(sizes) < machine_bytes() // 3


def wide_values(graph: Graph, feeds: Mapping[str, Any]) -> tuple[Wide, dict[str, Any]]:
    """Return the graph in f64, and all its values by name. Errors: E-RUN-*."""
    wide = widened(graph)
    names = [name for name in graph.types if name not in graph.constants]
    return wide, evaluate_graph(wide.graph, wide_feeds(feeds), keep=names)


def by_node(
    source: Graph, feeds: Mapping[str, Any], stages: Sequence[tuple[str, Graph]], tolerance: float
) -> list[NodeErrors]:
    """Return the errors of values for each stage; stages that cannot be computed are omitted."""
    values = StageValues(feeds)
    names = ByName(values.of(source), wide_values(source, feeds)[1])
    found: list[NodeErrors] = []
    for stage, graph in stages:
        try:
            found.append(names.errors(stage, graph, values.of(graph), tolerance))
        except CompileError:
            continue
    return found
