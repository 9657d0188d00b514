"""Tests of random graphs under every policy: equal results, interpreted and compiled."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import compiler
from compiler.ir.graph import Graph
from compiler.ir.text import parse_graph
from compiler.ir.verify import verify
from compiler.passes import PASSES
from compiler.passes.fusion.policies import POLICIES
from compiler.reference import reference
from tests.noise import expectations, objection
from tests.random_graphs import random_feeds, random_graphs

SPECIAL = (0.0, -0.0, 1.0, -1.0, 1e-3, 1e3, float("inf"), float("-inf"), float("nan"))

quick = settings(
    max_examples=25,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


class Case(NamedTuple):
    """A graph, its inputs (possibly with infinities and NaN), and a policy."""

    graph: Graph
    seed: int
    special: bool
    policy: str


cases = st.builds(
    Case,
    random_graphs(max_steps=14),
    st.integers(0, 99),
    st.booleans(),
    st.sampled_from(list(POLICIES)),
)


@quick
@given(cases)
def test_random_graphs_compute_the_same_under_every_policy(case: Case) -> None:
    feeds = random_feeds(case.graph, case.seed, SPECIAL if case.special else ())
    expected = expectations(case.graph, feeds)
    after = PASSES["fuse"].run(case.graph, policy=case.policy)
    verify(after)
    assert parse_graph(str(after)) == after
    program = compiler.compile(after, pipeline="assign_layout,fuse_data_movement")
    assert all(k.native for k in program.kernels)
    for made in (reference(after, feeds), program.run(feeds)):
        assert list(made) == list(expected)
        for name, e in expected.items():
            wrong = objection(made[name], e)
            assert not wrong, f"{name} under {case.policy}: {wrong}"
