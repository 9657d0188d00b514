"""Tests that rules and passes preserve results for other sizes, types and readers."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.check.widen import wide_feeds, widened
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.infer import infer
from compiler.ir.operator import OPERATORS, Array
from compiler.ir.types import DType, TensorType
from compiler.ir.verify import verify
from compiler.passes import PASSES, RULES, Pass, Rule
from compiler.passes.engine.rewrite import apply_rules
from compiler.reference import reference
from compiler.trace import Log
from tests.compiler.passes.numbers import SPECIAL, applied, random_inputs
from tests.compiler.passes.variations import variations


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda r: r.name)
def test_the_rule_holds_for_other_sizes_types_and_readers(rule: Rule) -> None:
    before, _ = rule.example_graphs()
    for name, g in variations(before):
        known = before if name.startswith("open") else g
        tried = (make(known, seed) for seed in range(2) for make in (random_inputs, special_inputs))
        inputs = [x for x in tried if _runs(g, x)]
        if not inputs:
            continue
        log = Log()
        after = apply_rules(g, [rule], log)
        if after is g:
            assert not applied(log.steps), name
            continue
        verify(after)
        for x in inputs:
            check(g, after, x, rule.error, name)


WITHOUT_RULES = [
    p
    for p in PASSES.values()
    if not p.rules
    and p.kind != "analysis"
    and not any(n.regions for n in p.example_graphs()[0].nodes)
]


@pytest.mark.parametrize("declared", WITHOUT_RULES, ids=lambda p: p.name)
def test_the_pass_holds_for_other_sizes_types_and_readers(declared: Pass) -> None:
    """A budget is relative to each rewrite; several roundings may precede it."""
    before, _ = declared.example_graphs()
    error = max(2e-5, 8 * declared.error)
    for name, g in variations(before):
        inputs = random_inputs(before if name.startswith("open") else g, 1)
        if not _runs(g, inputs):
            continue
        g = infer(g)[0]
        after = declared.run(g, Log(), **(declared.example_options or {}))
        verify(after)
        check(g, after, inputs, error, name)


def _runs(g: Graph, inputs: dict[str, Array]) -> bool:
    """Return whether the variation has results; the elements of a constant may be illegal."""
    try:
        with np.errstate(all="ignore"):
            reference(g, inputs)
    except CompileError as e:
        if e.code == "E-OP-SHAPE" or isinstance(e.__cause__, IndexError | ValueError):
            return False
        raise
    return True


def special_inputs(g: Graph, seed: int) -> dict[str, Array]:
    """Return special floats, and the minimum and maximum integers, among others.

    Inputs without a defined result are excluded: NaN converted to an integer, infinities in sums of
    products.
    """
    rng = np.random.default_rng(seed)
    found = random_inputs(g, seed)
    finite = any(_needs_finite(n.op, n.types[0]) for n in g.nodes)
    for name, array in found.items():
        dtype = DType.from_numpy(array.dtype)
        if dtype.is_float:
            numbers = SPECIAL[np.isfinite(SPECIAL)] if finite else SPECIAL
        elif dtype.is_integer:
            limits = np.iinfo(array.dtype)
            numbers = np.array([limits.min, limits.max, 0, 1, 2, limits.max // 2], array.dtype)
        else:
            continue
        found[name] = rng.choice(numbers, array.shape).astype(array.dtype)
    return found


def _needs_finite(op: str, t: object) -> bool:
    to_whole = op == "cast" and isinstance(t, TensorType) and not t.dtype.is_float
    return to_whole or OPERATORS[op].kind == "contraction"


def check(a: Graph, b: Graph, inputs: dict[str, Array], error: float, name: str) -> None:
    """Compare integers and exact rules bit for bit, others within the rounding of their type."""
    with np.errstate(all="ignore"):
        left, right = reference(a, inputs), reference(b, inputs)
    for key, x in left.items():
        y = right[key]
        assert (x.dtype, x.shape) == (y.dtype, y.shape), name
        dtype = DType.from_numpy(x.dtype)
        p, q = (v.astype(np.float64) if dtype.is_float else v for v in (x, y))
        if not dtype.is_float or not error:
            np.testing.assert_array_equal(p, q, err_msg=f"{name}: {a}")
            continue
        finite = p[np.isfinite(p)]
        scale = float(np.abs(finite).max(initial=0.0)) or 1.0
        allowed = error * {"f16": 2.0**13, "bf16": 2.0**16}.get(dtype.label, 1.0)
        close = np.isclose(p, q, rtol=allowed, atol=allowed * scale, equal_nan=True)
        if not close.all():
            # If a pattern cancels, its replacement is closer to the f64 results.
            exact = in_f64(a, inputs)[key]
            close |= np.isclose(exact, q, rtol=allowed, atol=allowed * scale, equal_nan=True)
        assert close.all(), f"{name}: {a}\n{p}\n{q}"


def in_f64(g: Graph, inputs: dict[str, Array]) -> dict[str, Array]:
    """Return the results of a graph in f64."""
    with np.errstate(all="ignore"):
        return reference(widened(g).graph, wide_feeds(inputs))
