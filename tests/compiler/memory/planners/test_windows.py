import random
import subprocess
import sys

import pytest

from compiler.memory.buffer import Block
from compiler.memory.planners import native, windows
from compiler.memory.planners.keys import by, by_area, by_lifetime, by_size, by_start
from compiler.memory.planners.place import place, place_in_a_list


def some_blocks(n: int, seed: int) -> list[Block]:
    """Return blocks, most of them short-lived, with a few pinned above the others."""
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


INTERPRETED = """
import sys
sys.modules[{package!r}] = None
from tests.compiler.memory.planners.test_windows import placed_in_windows
from compiler.memory.planners.native import jit
assert jit() is None
print(placed_in_windows())
"""


def placed_in_windows() -> list[int]:
    blocks = some_blocks(150, 3)
    return windows.Windows(blocks).place(by(by_lifetime, blocks), "best")


@pytest.mark.parametrize("package", ["numba", "llvmlite"])
def test_without_numba_or_what_it_needs_the_same_lines_are_interpreted(package: str) -> None:
    assert native.jit() is not None
    found = subprocess.run(
        [sys.executable, "-c", INTERPRETED.format(package=package)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == str(placed_in_windows())


def test_many_blocks_go_into_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = some_blocks(60, 4)
    order = by(by_size, blocks)
    monkeypatch.setattr("compiler.memory.planners.place.MANY", 50)
    monkeypatch.setattr("compiler.memory.planners.place.place_in_a_list", None)
    assert len(place(blocks, order, "first")) == 60
