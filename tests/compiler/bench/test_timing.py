import os

import pytest

from compiler.bench.timing import Times, interleaved, pinned, ratio_of_minima
from tests.platforms import needs_affinity


def test_programs_take_turns() -> None:
    calls: list[str] = []
    times = interleaved(
        {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 0, min_rounds=8
    )
    assert [len(t.seconds) for t in times.values()] == [8, 8]
    # After a warm-up, each is called twice, untimed and timed, in an order that changes by round.
    rounds = ["".join(calls[-4 * n - 4 : len(calls) - 4 * n]) for n in range(8)]
    assert set(rounds) == {"aabb", "bbaa"}


def test_the_ratio_compares_minima_and_its_interval_holds_it() -> None:
    ours, theirs = Times((2.0, 2.5, 3.0, 2.2)), Times((1.0, 1.5, 4.0))
    found = ratio_of_minima(ours, theirs)
    assert found.value == 2.0
    assert found.low <= 2.0 <= found.high
    assert found.low < found.high
    assert ours.middle == pytest.approx(2.35)
    assert ratio_of_minima(ours, theirs) == found


@needs_affinity
def test_pinning_keeps_one_processor_and_gives_all_back() -> None:
    before = os.sched_getaffinity(0)
    with pinned() as processors:
        assert os.sched_getaffinity(0) == set(processors)
        assert len(processors) == 1
    assert os.sched_getaffinity(0) == before
    with pinned(False) as nothing:
        assert nothing == ()
    with pinned(n=len(before) + 1) as too_many:
        assert too_many == ()
        assert os.sched_getaffinity(0) == before
