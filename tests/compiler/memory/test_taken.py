import random

import pytest

from compiler.memory import taken
from compiler.memory.taken import Taken


@pytest.mark.parametrize("together", [1, 2, 1000])
def test_neighbours_are_all_that_can_be_met(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taken, "MOST_TOGETHER", together)
    chance = random.Random(together)
    bytes_of: dict[int, range] = {}
    mine = Taken()
    for _ in range(3000):
        offset = chance.randrange(-20, 300)
        limit = offset + chance.randint(1, 12)
        met = [r for r in bytes_of.values() if r.start < limit and offset < r.stop]
        found = mine.meets(offset, limit)
        ends = {(r.start, r.stop, f"b{r.start}") for r in met}
        assert set(found) <= ends
        assert bool(found) == bool(met)
        if not met:
            mine.add(offset, limit, f"b{offset}")
            bytes_of[offset] = range(offset, limit)
        elif chance.random() < 0.7:
            mine.remove(met[0].start)
            del bytes_of[met[0].start]
