import random
from importlib.util import find_spec

import pytest

from compiler.memory.buffer import Block
from compiler.memory.planners import windows
from compiler.memory.planners.orders import by_area, by_lifetime, by_size, by_start
from compiler.memory.planners.place import by, place, place_in_a_list


def some_blocks(n: int, seed: int) -> list[Block]:
    """Blocks of which most live short, some long, and a few are pinned above the others."""
    chance = random.Random(seed)
    blocks = []
    for i in range(n):
        start = chance.randrange(n)
        length = chance.choice([1, 3, 20, 20, n // 3, n])
        pinned = (1 << 30) + 4096 * i if chance.random() < 0.02 else -1
        blocks.append(
            Block(
                (i,),
                chance.randrange(0, 900),
                start,
                start + length,
                chance.choice([1, 64]),
                pinned,
            )
        )
    return blocks


@pytest.mark.parametrize("key", [by_area, by_lifetime, by_size, by_start])
@pytest.mark.parametrize("fit", ["first", "best"])
def test_windows_and_one_list_give_the_same_places(key, fit) -> None:
    for n in (1, 2, 40, 400):
        blocks = some_blocks(n, n)
        order = by(key, blocks)
        expected = place_in_a_list(blocks, order, fit)
        assert windows.Windows(blocks).place(order, fit) == expected


def test_without_numba_the_same_lines_are_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = some_blocks(150, 3)
    order = by(by_lifetime, blocks)
    expected = windows.Windows(blocks).place(order, "best")
    monkeypatch.setattr(windows, "find_spec", lambda name: None)
    windows.compiled.cache_clear()
    assert windows.Windows(blocks).place(order, "best") == expected
    windows.compiled.cache_clear()
    assert find_spec("numba") is not None


def test_many_blocks_go_into_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = some_blocks(60, 4)
    order = by(by_size, blocks)
    monkeypatch.setattr("compiler.memory.planners.place.MANY", 50)
    monkeypatch.setattr("compiler.memory.planners.place.place_in_a_list", None)
    assert len(place(blocks, order, "first")) == 60
