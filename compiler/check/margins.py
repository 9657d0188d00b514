"""Margins of results: the f64 value, and the error that rounding alone can cause.

The computation runs in f64 several times, with noise in the last places of all operands and
results. If noise causes a large change of a result, other roundings may cause an equally large
change. Examples are the results of a cancelling sum, and of a comparison of equal numbers. A
difference up to the effect of noise counts as correct. If noise has no effect, results must agree.
The margin thus separates bad conditioning from errors. Source: stochastic arithmetic, Vignes 1993
(CESTAC); the noise in this module is larger than one rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from compiler.check.widen import Wide, wide_feeds, widened
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS, Array
from compiler.ir.types import TensorType
from compiler.ops.evaluation.meaning import evaluate_node

N_RUNS = 3
"""The number of runs with noise."""

MORE_FOR_DECISIONS = 4
"""The factor by which integer and boolean results need more runs: noise must flip each uncertain
element in at least one run."""

FACTOR = 16.0
"""The allowed error, as a multiple of the largest change that noise caused."""

NOISE = 4.0
"""The amplitude of the noise, in units in the last place of each element type."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected result in its original type and in f64, and the margin of each element.

    `certain` marks the integers and booleans that noise does not change, and the floats that remain
    finite or infinite. A margin of 0 requires equal bits.
    """

    own: Any
    wide: Array
    margin: Array
    certain: Array


def evaluated(graph: Graph, feeds: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluate a graph; return the results by name. Errors: E-RUN-*."""
    return _run(graph, feeds, graph, None)


def expectations(
    graph: Graph,
    feeds: Mapping[str, Any],
    own: Mapping[str, Any],
    seed: int = 0,
    n_runs: int = N_RUNS,
) -> dict[str, Expected]:
    """Return the expected results by name; `own` has the reference's results in the model's types.

    Errors: E-RUN-*. Results other than numeric tensors have no f64 form and must be equal.
    """
    if n_runs and any(isinstance(v, np.ndarray) and v.dtype.kind in "biu" for v in own.values()):
        n_runs *= MORE_FOR_DECISIONS
    wide = widened(graph)
    given = wide_feeds(feeds)
    exact = _run(wide.graph, given, graph, None)
    shaken: list[dict[str, Any]] = []
    for k in range(n_runs):
        chance = np.random.default_rng((seed, k))
        try:
            shaken.append(_run(wide.graph, given, graph, chance))
        except CompileError:
            continue  # Noise made an index or a size invalid.
    return {
        name: _expected(value, exact[name], [s[name] for s in shaken])
        for name, value in own.items()
    }


def _expected(own: Any, exact: Any, shaken: list[Any]) -> Expected:
    if not isinstance(own, np.ndarray) or own.dtype == object or np.shape(exact) != own.shape:
        return Expected(own, np.zeros(0), np.zeros(0), np.zeros(0))
    shaken = [s for s in shaken if np.shape(s) == own.shape]
    if own.dtype.kind in "biu":
        same = [np.asarray(s == exact) for s in shaken]
        certain = np.logical_and.reduce([np.asarray(own == exact), *same])
        return Expected(own, exact, np.zeros(own.shape), np.asarray(certain))
    with np.errstate(all="ignore"):
        value = number(exact)
        others = [number(s) for s in shaken]
        moved = np.max([np.abs(o - value) for o in others], axis=0, initial=0.0)
        odd = [np.isfinite(o) == np.isfinite(value) for o in others]
        margin = FACTOR * np.nan_to_num(moved, posinf=0.0)
        margin += 2 * unit(own.dtype) * np.nan_to_num(np.abs(value), posinf=0.0) + tiny(own.dtype)
    certain = np.logical_and.reduce([np.ones(own.shape, bool), *odd])
    return Expected(own, value, np.asarray(margin), np.asarray(certain))


def unit(dtype: np.dtype[Any]) -> float:
    """Return the relative distance of adjacent numbers of a float type."""
    return float(ml_dtypes.finfo(dtype).eps)


def tiny(dtype: np.dtype[Any]) -> float:
    """Return the smallest normal number of a float type; smaller results may be flushed to 0."""
    return float(ml_dtypes.finfo(dtype).smallest_normal)


def number(values: Any) -> Array:
    """Convert numbers to f64 or complex128, a type wide enough for subtraction."""
    array = np.asarray(values)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _run(
    graph: Graph, feeds: Mapping[str, Any], own: Graph, chance: np.random.Generator | None
) -> dict[str, Any]:
    """Return the results by name; the noise has the size of rounding in the types of `own`."""
    units = {} if chance is None else _units(own)
    values: dict[str, Any] = {k: c.array() for k, c in graph.constants.items()}
    for name, value in feeds.items():
        values[name] = _shaken(value, units.get(name, 0.0), chance)
    wanted = {r.value for r in graph.results}
    for node, dying in zip(graph.nodes, graph.last_uses, strict=True):
        operands = [values[i] if i else None for i in node.inputs]
        made = evaluate_node(node, operands, values)
        for name, value in zip(node.outputs, made, strict=False):
            if name:
                values[name] = (
                    value if _copies(node) else _shaken(value, units.get(name, 0), chance)
                )
        for name in dying:
            if name not in wanted:
                values.pop(name, None)
    return {r.name: values[r.value] for r in graph.results}


def _units(graph: Graph) -> dict[str, float]:
    return {
        name: NOISE * unit(t.dtype.numpy)
        for name, t in graph.types.items()
        if isinstance(t, TensorType) and t.dtype.is_float and name not in graph.constants
    }


def _copies(node: Node) -> bool:
    operator = OPERATORS.get(node.op)
    return operator is not None and operator.kind in ("view", "movement") and operator.exact


def _shaken(value: Any, size: float, chance: np.random.Generator | None) -> Any:
    if chance is None or not size or not isinstance(value, np.ndarray):
        return value
    if value.dtype != np.float64:
        return value  # The node has no f64 form, or the value has a storage type.
    with np.errstate(all="ignore"):
        return np.asarray(value * (1 + size * chance.uniform(-1, 1, value.shape)))


def wide_results(graph: Graph, feeds: Mapping[str, Any]) -> tuple[Wide, dict[str, Any]]:
    """Return the graph in f64, and its results by name. Errors: E-RUN-*."""
    wide = widened(graph)
    return wide, _run(wide.graph, wide_feeds(feeds), graph, None)
