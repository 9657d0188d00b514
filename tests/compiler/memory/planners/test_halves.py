import pytest

from compiler.memory.planners import halves
from compiler.memory.planners.halves import place_by_halves
from compiler.memory.planners.keys import by, by_lifetime, by_size, by_span
from compiler.memory.planners.place import Fit, place, place_in_a_list
from tests.compiler.memory.planners.test_windows import some_blocks


@pytest.mark.parametrize("fit", ["first", "best"])
@pytest.mark.parametrize("seed", range(10))
def test_without_a_cut_it_is_the_list_of_all_that_is_placed(seed: int, fit: Fit) -> None:
    blocks = some_blocks(120, seed)
    order = by(by_size, blocks)
    assert place_by_halves(blocks, order, fit) == place_in_a_list(blocks, order, fit)


@pytest.mark.parametrize("fit", ["first", "best"])
@pytest.mark.parametrize("most_lying", [2, 9, 4000])
@pytest.mark.parametrize("seed", range(10))
def test_halves_of_halves_never_overlap(
    seed: int, most_lying: int, fit: Fit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(halves, "FEWEST_HALVED", 2)
    monkeypatch.setattr(halves, "MOST_LYING", most_lying)
    blocks = some_blocks(150, seed)
    offsets = place_by_halves(blocks, by(by_lifetime, blocks), fit)
    for i, (a, at) in enumerate(zip(blocks, offsets, strict=True)):
        assert at % a.alignment_bytes == 0
        assert a.pinned in (-1, at)
        for b, there in zip(blocks[:i], offsets, strict=False):
            apart = a.end <= b.start or b.end <= a.start
            assert apart or at + a.size <= there or there + b.size <= at or not a.size * b.size


def test_nothing_is_lost_where_no_gap_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one split: blocks across it are placed first, then all others in their order."""
    blocks = [b for b in some_blocks(200, 3) if b.pinned < 0]
    middle = sorted({b.start for b in blocks})[len({b.start for b in blocks}) // 2]
    crossing = [i for i, b in enumerate(blocks) if b.start < middle < b.end]
    others = [i for i in by_span(blocks) if i not in crossing]
    in_turn = [i for i in by_span(blocks) if i in crossing] + others
    monkeypatch.setattr(halves, "FEWEST_HALVED", max(len(crossing), len(others) - 1))
    assert place_by_halves(blocks, by_span(blocks), "best") == place_in_a_list(
        blocks, in_turn, "best"
    )


def test_very_many_blocks_go_by_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = some_blocks(60, 4)
    monkeypatch.setattr("compiler.memory.planners.place.MANY", 20)
    monkeypatch.setattr("compiler.memory.planners.place.VERY_MANY", 50)
    monkeypatch.setattr("compiler.memory.planners.windows.Windows", None)
    assert len(place(blocks, by(by_size, blocks), "first")) == 60
