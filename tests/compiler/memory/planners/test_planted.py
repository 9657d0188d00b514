"""Tests that planted problems have the stated optimum."""

import pytest

from benchmarks.planning_planted import FAMILIES, cut_up
from compiler.memory.plan import make_problem


@pytest.mark.parametrize("family", FAMILIES)
def test_a_planted_problem_is_full_at_some_step_and_never_over_full(family: str) -> None:
    for n_buffers, seed in ((100, 0), (200, 3)):
        made = cut_up(family, n_buffers, seed)
        bound = make_problem(made.buffers, made.alignment_bytes).lower_bound_bytes
        assert made.optimum_bytes - made.alignment_bytes < bound <= made.optimum_bytes
        assert 0.5 * n_buffers <= len(made.buffers) <= n_buffers
        assert all(b.size > 0 and b.start < b.end for b in made.buffers)


def test_a_seed_says_all() -> None:
    assert cut_up("holes", 100, 4) == cut_up("holes", 100, 4)
    assert cut_up("holes", 100, 4) != cut_up("holes", 100, 5)
