"""Tests of random graphs of random operators: text, passes and programs preserve results.

`make test` draws the same graphs every time; `make sweep-graphs` draws many more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import compiler
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.operator import Array
from compiler.ir.text import parse_graph
from compiler.passes.pipeline.run import run_pipeline
from compiler.reference import reference
from tests.noise import Expected, expectations, objection
from tests.random_graphs import random_feeds, random_graphs

Feeds = Mapping[str, Array]

PRESETS = ("O0", "O1", "O2", "debug")

SPECIAL = (0.0, -0.0, 1.0, -1.0, 1e-3, 1e3, float("inf"), float("-inf"), float("nan"))

quick = settings(
    max_examples=50,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
long = settings(quick, max_examples=3000, derandomize=False, print_blob=True)


def check_text(graph: Graph) -> None:
    text = str(graph)
    again = parse_graph(text)
    assert again == graph, "the text parses to another graph"
    assert str(again) == text


def check_values(made: Mapping[str, Array], expected: Mapping[str, Expected], after: str) -> None:
    assert list(made) == list(expected), after
    for name, e in expected.items():
        wrong = objection(made[name], e)
        assert not wrong, f"{name} {after}: {wrong}"


def check_passes(graph: Graph, feeds: Feeds, expected: Mapping[str, Expected]) -> None:
    for preset in PRESETS:
        ran: list[str] = []
        for event in run_pipeline(graph, preset)[1].events:
            ran.append(event.name)
            if event.changed:
                check_text(event.after)
                check_values(
                    reference(event.after, feeds), expected, f"of {preset} after {','.join(ran)}"
                )


def check_programs(graph: Graph, feeds: Feeds, expected: Mapping[str, Expected]) -> None:
    for preset in ("O0", "O2"):
        program = compiler.compile(graph, preset)
        fallbacks = [k.because for k in program.kernels if not k.native]
        assert not fallbacks, fallbacks[0]
        for _ in range(2):
            check_values(program.run(feeds), expected, f"of the program of {preset}")


@dataclass(frozen=True)
class Case:
    """A graph to examine; a failure shows it as text."""

    graph: Graph
    seed: int
    special: bool

    def __repr__(self) -> str:
        return f"seed {self.seed}, special numbers {self.special}\n{self.graph}"


def examine(case: Case) -> None:
    check_text(case.graph)
    feeds = random_feeds(case.graph, case.seed, SPECIAL if case.special else ())
    try:
        expected = expectations(case.graph, feeds)
    except CompileError as error:
        # A computed number may be an index out of range, for which the graph is undefined.
        assume("out of bounds" not in error.message)
        raise
    check_passes(case.graph, feeds, expected)
    check_programs(case.graph, feeds, expected)


cases = st.builds(Case, random_graphs(), st.integers(0, 99), st.booleans())


@quick
@given(cases)
def test_random_graphs_keep_their_meaning(case: Case) -> None:
    examine(case)


@pytest.mark.slow
@long
@given(cases)
def test_many_random_graphs_keep_their_meaning(case: Case) -> None:
    examine(case)
