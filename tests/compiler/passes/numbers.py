"""Graphs from text, inputs that reveal bugs, and comparisons of the results of two graphs."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from compiler.ir.graph import Graph
from compiler.ir.infer import infer
from compiler.ir.operator import Array
from compiler.ir.text import parse_graph
from compiler.ir.types import TensorType
from compiler.ir.verify import verify
from compiler.reference import reference
from compiler.trace import Step

SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -3.0, 3.0, 6.5, -7.25, 1e-3, np.nan, np.inf, -np.inf], np.float64
)
"""Numbers for which formulas that agree on ordinary numbers tend to differ."""


def graph(text: str) -> Graph:
    """Return the verified graph of a text, after type inference."""
    made = infer(parse_graph(textwrap.dedent(text)))[0]
    verify(made)
    return made


def random_inputs(g: Graph, seed: int = 0) -> dict[str, Array]:
    """Return numbers of both signs for each input; each open dimension gets its own size."""
    rng = np.random.default_rng(seed)
    sizes: dict[str, int] = {}
    found: dict[str, Array] = {}
    for v in g.inputs:
        assert isinstance(v.type, TensorType)
        shape = [
            d if isinstance(d, int) else sizes.setdefault(str(d), 3 + len(sizes))
            for d in v.type.dims
        ]
        dtype = v.type.dtype
        if dtype.label == "bool":
            found[v.name] = rng.integers(0, 2, shape).astype(np.bool_)
        elif dtype.is_integer:
            low = 0 if dtype.label[0] == "u" else -9
            found[v.name] = rng.integers(low, 10, shape).astype(dtype.numpy)
        else:
            found[v.name] = (3 * rng.standard_normal(shape)).astype(dtype.numpy)
    return found


def special_inputs(g: Graph, seed: int = 0) -> dict[str, Array]:
    """Return random inputs with zeros of both signs, infinities and NaN among the floats."""
    rng = np.random.default_rng(seed)
    found = random_inputs(g, seed)
    for name, array in found.items():
        if array.dtype.kind == "f":
            found[name] = rng.choice(SPECIAL, array.shape).astype(array.dtype)
    return found


def assert_same_results(a: Graph, b: Graph, inputs: Mapping[str, Array], *, error: float) -> None:
    """Check equal results: up to `error` of the scale; for 0, all bits but the sign of zero."""
    with np.errstate(all="ignore"):
        left, right = reference(a, inputs), reference(b, inputs)
    assert list(left) == list(right)
    for name, x in left.items():
        y = right[name]
        assert (x.dtype, x.shape) == (y.dtype, y.shape), name
        if not error or x.dtype.kind != "f":
            np.testing.assert_array_equal(x, y, err_msg=name)
            continue
        finite = x[np.isfinite(x)]
        scale = float(np.abs(finite).max()) if finite.size else 1.0
        np.testing.assert_allclose(x, y, rtol=error, atol=error * scale, err_msg=name)


def plain(g: Graph) -> str:
    """Return the text of a graph without origins, which have separate tests."""
    return str(_without_origins(g))


def _without_origins(g: Graph) -> Graph:
    nodes = tuple(
        replace(
            n,
            name=n.output,
            origins=(n.output,),
            regions={k: _without_origins(r) for k, r in n.regions.items()},
        )
        for n in g.nodes
    )
    constants = {k: c.with_origins(()) for k, c in g.constants.items()}
    return replace(g, nodes=nodes, constants=constants)


def applied(steps: list[Step] | tuple[Step, ...]) -> list[str]:
    """Return the applied rules, in order."""
    return [s.rule for s in steps if s.outcome == "applied"]


def declined(steps: list[Step] | tuple[Step, ...], rule: str) -> list[str]:
    """Return the reasons for which a rule was declined, value by value."""
    return [s.because for s in steps if s.outcome == "declined" and s.rule == rule]
