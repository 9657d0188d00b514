"""Tests that operators with code for known sizes have code for open sizes, with equal results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np
import pytest

import compiler.ops
from compiler.errors import CompileError
from compiler.ir.constant import Array
from compiler.ir.infer import specialize
from compiler.ir.operator import OPERATORS, Operator
from compiler.loops.limits import LOWERABLE
from compiler.ops.evaluation.meaning import evaluate_graph
from compiler.runtime.open.build import NotOpen, build_open, choose_open
from compiler.targets.options import CodeOptions
from tests.open_graphs import OpenSample, open_samples, together
from tests.operator_samples import assert_same

assert compiler.ops.__doc__

SAMPLES_EACH = 2
GROUPS = 8
GROWN = (0, 1, 16)
LARGEST = 300_000

Results = tuple[dict[str, Array], dict[str, Any]]


def _lowered() -> list[Operator]:
    return [o for o in OPERATORS.values() if o.lower_fn is not None or o.decompose_fn is not None]


def _has_code(sample: OpenSample) -> bool:
    types = (*sample.graph.inputs, *sample.graph.nodes[0].values())
    if not all(getattr(v.type, "dtype", None) in LOWERABLE for v in types):
        return False
    try:
        choose_open(sample.graph, CodeOptions())
    except NotOpen:
        return False
    return True


def _chosen(operator: Operator) -> list[OpenSample]:
    return list(islice(filter(_has_code, open_samples(operator)), SAMPLES_EACH))


@contextmanager
def stage(name: str) -> Iterator[None]:
    yield


def test_operators_have_code_for_open_sizes() -> None:
    without = {o.name for o in _lowered() if any(open_samples(o)) and not _chosen(o)}
    assert not without


def _needed(sample: OpenSample, grown: int) -> Results | None:
    """Return inputs and results for increased sizes; None if the operator refuses them."""
    inputs = sample.inputs(grown)
    if sum(a.size for a in inputs.values()) > LARGEST:
        return None
    try:
        specialize(sample.graph, {k: v.shape for k, v in inputs.items()})
        return inputs, evaluate_graph(sample.graph, inputs)
    except (CompileError, ValueError):
        return None


def _serve(samples: list[OpenSample]) -> tuple[list[OpenSample], list[list[Results]]]:
    """Return the samples that accept all tested sizes, and their results for each."""
    rows = [(s, [_needed(s, g) for g in GROWN]) for s in samples]
    kept = [(s, [r for r in found if r is not None]) for s, found in rows if None not in found]
    return [s for s, _ in kept], [found for _, found in kept]


@pytest.mark.parametrize("group", range(GROUPS))
def test_one_program_is_right_for_all_sizes(group: int) -> None:
    samples, needed = _serve([s for o in _lowered()[group::GROUPS] for s in _chosen(o)])
    program = build_open(together(samples), CodeOptions(), stage)
    for number in range(len(GROWN)):
        inputs = {k: v for found in needed for k, v in found[number][0].items()}
        made = program.run(inputs)
        for sample, found in zip(samples, needed, strict=True):
            is_exact = sample.operator.exact
            for name, y in found[number][1].items():
                assert_same(np.asarray(made[name]), np.asarray(y), exact=is_exact, slack=20)
