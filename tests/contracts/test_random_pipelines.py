"""Tests of random graphs with O3, and with random subsets and orders of the passes.

`make test` draws a few graphs; `make sweep-pipelines` draws 5,000.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.operator import Array
from compiler.ledger import Ledger
from compiler.passes import PASSES, Pipeline, run_pipeline
from compiler.passes.pipeline.pipeline import line
from compiler.reference import reference
from tests.noise import Expected, Unsteady, expectations, objection
from tests.random_graphs import random_feeds, random_graphs
from tests.rule_graphs import graph_of_pieces
from tests.selection import few

SPECIAL = (0.0, -0.0, 1.0, -1.0, 1e-3, 1e3, float("inf"), float("-inf"), float("nan"))

SLACK = 16
"""Additional margin, because rules also round the constants that they combine, unlike the noise."""

SHARDS = 10
"""Number of parts of the long sweep, which several processes can share."""

quick = settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
long = settings(quick, max_examples=5000 // SHARDS, derandomize=False, print_blob=True)


@dataclass(frozen=True)
class Case:
    """A graph to examine; a failure shows it as text."""

    graph: Graph
    seed: int

    def __repr__(self) -> str:
        return f"seed {self.seed}\n{self.graph}"


cases = st.builds(Case, random_graphs(max_steps=14), st.integers(0, 9999))


def random_pipeline(chance: random.Random) -> Pipeline:
    """Return passes drawn with replacement, some of them with a random option.

    Passes that round on purpose are excluded: they change ill-conditioned results without a known
    bound.
    """
    lines = []
    exact = [name for name, p in PASSES.items() if not p.error]
    for name in chance.choices(exact, k=chance.randint(2, 12)):
        choices = [o for o in PASSES[name].options.values() if o.choices]
        options = {o.name: chance.choice(o.choices) for o in choices if chance.random() < 0.5}
        lines.append(line(name, **options))
    return Pipeline(tuple(lines))


def examine(case: Case) -> bool:
    """Return whether the graph is defined for these numbers, since indices may be out of range."""
    chance = random.Random(case.seed)
    feeds = random_feeds(case.graph, case.seed, SPECIAL if case.seed % 3 == 0 else ())
    try:
        expected = expectations(case.graph, feeds)
    except (CompileError, Unsteady):
        return False
    for pipeline in ("O3", str(random_pipeline(chance))):
        examine_pipeline(case.graph, pipeline, feeds, expected)
    return True


def examine_pipeline(
    graph: Graph, pipeline: str, feeds: Mapping[str, Array], expected: Mapping[str, Expected]
) -> None:
    after, trace = run_pipeline(graph, pipeline)
    again, _ = run_pipeline(graph, pipeline)
    assert str(after) == str(again), f"{pipeline} gave two different results"
    made = reference(after, feeds)
    assert list(made) == list(expected), pipeline
    for name, e in expected.items():
        wrong = objection(made[name], replace(e, margin=e.margin * SLACK))
        assert not wrong, f"{name} after {pipeline}: {wrong}"
    lost = [f.node for f in Ledger(trace).fates() if f.kind == "unaccounted"]
    assert not lost, f"{pipeline} lost {lost}"


@pytest.mark.parametrize("start", few(range(0, 200, 20), 5))
def test_rules_that_meet_each_other_keep_the_meaning(start: int) -> None:
    examined = [examine(Case(graph_of_pieces(i), i)) for i in range(start, start + 20)]
    assert sum(examined) > 10


def keep_the_meaning(case: Case) -> None:
    """Call `examine` without a result, as hypothesis requires."""
    examine(case)


test_passes_in_any_order_keep_the_meaning = quick(given(cases)(keep_the_meaning))


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_passes_in_any_order_keep_the_meaning_of_many_graphs(shard: int) -> None:
    seed(shard)(long(given(cases)(keep_the_meaning)))()
    for i in range(5000 // SHARDS):
        number = 10_000 + shard * 5000 + i
        examine(Case(graph_of_pieces(number), number))
