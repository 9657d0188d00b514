"""Margins for results, estimated by adding noise to the computation.

The graph is evaluated in numpy several times, with noise of a few units in the last place added to
all operands and results of each node. If noise changes a result, another order of operations may
change it as much. If noise changes a decision (a comparison, a sign, an overflow), both outcomes
are right. Results that noise does not change must be equal.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.errors import CompileError
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS, Array
from compiler.ir.types import DType
from compiler.ops.evaluation.meaning import evaluate_node

UNIT = {"f64": 2.0**-50, "f32": 2.0**-21, "f16": 2.0**-9, "bf16": 2.0**-6}
"""Relative noise of each element type: a few roundings. Other types are exact."""

N_RUNS = 6
READS_PLACES = {"grid_sample", "roi_align"}
"""Operators whose float operands are positions; infinite positions are undefined."""

TERMS = {"random_uniform": ("low", "high"), "random_normal": ("mean", "scale")}
"""Magnitudes of the numbers, possibly cancelling, that an operator adds to its results."""

SHIFTED = {"batch_norm": 2, "layer_norm": 2, "instance_norm": 2, "group_norm": 2}
"""The operand that an operator adds to normalised numbers, whose sum may cancel.

Noise of x does not show that: it changes the normalised numbers of a small group hardly at all.
"""

FACTOR = 16.0
"""Permitted difference as a multiple of the largest change by noise."""


class Unsteady(Exception):
    """The graph is defined for some noise only."""


@dataclass(frozen=True)
class Expected:
    """A result, the margin of each element, and which elements are certain."""

    value: Array
    margin: Array
    certain: Array


def expectations(graph: Graph, feeds: Mapping[str, Array], seed: int = 0) -> dict[str, Expected]:
    """Return the expected results, by name. Errors: those of a reference; Unsteady."""
    exact = _results(graph, feeds, None)
    shaken = [_results(graph, feeds, np.random.default_rng((seed, k))) for k in range(N_RUNS)]
    return {r.name: _expected(exact[r.name], [s[r.name] for s in shaken]) for r in graph.results}


def objection(made: Any, expected: Expected) -> str:
    """Return the error of a result; "" for none."""
    value = expected.value
    made = np.asarray(made)
    if (made.dtype, made.shape) != (value.dtype, value.shape):
        return f"{made.dtype}{list(made.shape)} instead of {value.dtype}{list(value.shape)}"
    if DType.from_numpy(value.dtype).label not in UNIT:
        wrong = expected.certain & (made != value) & ((made == made) | (value == value))
    else:
        a, b = made.astype(np.float64), value.astype(np.float64)
        with np.errstate(all="ignore"):
            near = np.abs(a - b) <= expected.margin
        same = (a == b) | (np.isnan(a) & np.isnan(b)) | (near & np.isfinite(b))
        wrong = expected.certain & ~same
    if not wrong.any():
        return ""
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"{int(wrong.sum())} of {wrong.size} elements differ, first at {list(place)}: "
        f"{made[place]} instead of {value[place]}, margin {expected.margin[place]}"
    )


def _expected(exact: Array, shaken: list[Array]) -> Expected:
    dtype = DType.from_numpy(exact.dtype)
    if dtype.label not in UNIT:
        certain = np.all([(s == exact) | (s != s) & (exact != exact) for s in shaken], axis=0)
        return Expected(exact, np.zeros(exact.shape), np.asarray(certain))
    value = exact.astype(np.float64)
    others = [s.astype(np.float64) for s in shaken]
    with np.errstate(all="ignore"):
        moved = np.max([np.abs(o - value) for o in others], axis=0, initial=0.0)
        finite = np.isfinite(value)
        alike = [np.isfinite(o) & finite | _same_odd(o, value) for o in others]
    scale = float(np.abs(value[finite]).max(initial=0.0))
    margin = FACTOR * np.where(finite, moved, 0.0) + UNIT[dtype.label] * np.abs(
        np.where(finite, value, 0.0)
    )
    tiny = float(np.finfo(np.float32).tiny) if dtype is not DType.f64 else 1e-300
    margin = np.asarray(margin + UNIT[dtype.label] * 1e-3 * scale + tiny)
    # If the noise is as large as the number, the number is meaningless.
    certain = np.all(alike, axis=0) & ~(margin > 0.5 * (scale + tiny) + np.where(finite, 0, np.inf))
    return Expected(exact, margin, np.asarray(certain))


def _same_odd(a: Array, b: Array) -> Array:
    return (a == b) | (np.isnan(a) & np.isnan(b))


def _results(
    graph: Graph, feeds: Mapping[str, Array], chance: np.random.Generator | None
) -> dict[str, Array]:
    values: dict[str, Any] = {k: c.array() for k, c in graph.constants.items()}
    values.update(feeds)
    for node in graph.nodes:
        operands = [values[i] if i else None for i in node.inputs]
        made = _shaken_node(node, operands, graph.constants, values, chance)
        values.update(zip(node.outputs, made, strict=False))
    return {r.name: np.asarray(values[r.value]) for r in graph.results}


def _shaken_node(
    node: Node,
    operands: list[Any],
    constants: Collection[str],
    outer: Mapping[str, Any],
    chance: np.random.Generator | None,
) -> tuple[Any, ...]:
    if chance is None:
        return evaluate_node(node, operands, outer)
    operator = OPERATORS.get(node.op)
    kind = "foreign" if operator is None else operator.kind
    copies = kind in ("view", "movement") and operator is not None and operator.exact
    sums = (kind not in ("elementwise", "reduction") and not copies) or node.op in READS_PLACES
    if sums and not all(map(_is_finite, operands)):
        # A term with factor 0 may be multiplied by 0 or omitted; neither is guaranteed.
        return tuple(_anything(m, chance) for m in evaluate_node(node, operands, outer))
    if sums or kind == "reduction":
        # The terms of a sum receive noise too, since they may cancel. Constants may be parameters.
        fixed = () if node.op in READS_PLACES else constants
        operands = [
            o if o is None or name in fixed else _shaken(o, chance)
            for name, o in zip(node.inputs, operands, strict=True)
        ]
    try:
        made = evaluate_node(node, operands, outer)
    except CompileError:
        raise Unsteady(f"{node.op} fails with noise") from None
    if copies:
        return made
    if largest := _added(node, operands):
        made = tuple(_shaken(m + largest, chance) - largest for m in made)
    return tuple(_shaken(m, chance) for m in made)


def _added(node: Node, operands: list[Any]) -> float:
    """Return the largest magnitude that an operator adds to its results, or 0."""
    if node.op in TERMS:
        return max(abs(float(node.attrs[name])) for name in TERMS[node.op])
    at = SHIFTED.get(node.op, len(operands))
    shift = operands[at] if at < len(operands) else None
    if shift is None or not _is_finite(shift):
        return 0.0
    return float(np.abs(shift.astype(np.float64)).max(initial=0.0))


def _is_finite(a: Array | None) -> bool:
    return a is None or a.dtype.kind in "iub" or bool(np.isfinite(a.astype(np.float64)).all())


def _anything(a: Array, chance: np.random.Generator) -> Array:
    """Return an expectation in which every element is uncertain."""
    with np.errstate(all="ignore"):
        # NaN is rare, because otherwise values computed from several inputs would always be NaN.
        return chance.choice([np.nan, *[1e30, -1e30] * 3], a.shape).astype(a.dtype)


def _shaken(a: Array, chance: np.random.Generator) -> Array:
    unit = UNIT.get(DType.from_numpy(a.dtype).label)
    if unit is None:
        return a
    with np.errstate(all="ignore"):
        noise = 1 + unit * chance.uniform(-1, 1, a.shape)
        # The sign of a zero is not guaranteed either, although 1/x reveals it.
        turned = np.where((a == 0) & (chance.random(a.shape) < 0.5), -noise, noise)
        return np.asarray(a.astype(np.float64) * turned).astype(a.dtype)
