from types import SimpleNamespace

import numpy as np
import pytest

from compiler.memory.planners import native
from compiler.memory.planners.native import compiled, kept


@compiled
def doubled(x: int) -> int:
    return 2 * x


@kept
def total(row: np.ndarray) -> int:
    found = 0
    for x in row:
        found += doubled(x)
    return found


def test_machine_code_and_the_lines_as_they_stand_say_the_same() -> None:
    row = np.array([3, -5, 9], np.int64)
    assert total(row) == total.interpreted(row) == 14


def test_what_is_called_soon_is_interpreted_until_loading_pays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called: list[str] = []
    made = kept(lambda: called.append("interpreted"))
    monkeypatch.setattr(native, "_machine_code", lambda *_: lambda: called.append("machine code"))
    made.soon()
    monkeypatch.setattr(native, "LOADING_SECONDS", 0.0)
    made.soon()
    monkeypatch.setattr(native, "LOADING_SECONDS", 9.0)
    made.soon()
    assert called == ["interpreted", "machine code", "machine code"]


def test_limits_do_not_count_what_machine_code_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(native.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(native._Making, "seconds", 0.0)
    told: list[str] = []

    class Loaded:
        def __init__(self, misses: int) -> None:
            self.stats = SimpleNamespace(cache_misses={"a signature": misses})

        def typeof_pyval(self, value: object) -> type:
            return type(value)

        def compile(self, types: tuple[type, ...]) -> None:
            assert types == (int,)
            clock[0] += 8.0

        def __call__(self, n: int) -> int:
            return 2 * n

    begin = native.now()
    monkeypatch.setattr(native, "keep_on_disk", lambda loaded: None)
    monkeypatch.setattr(native, "jit", lambda: lambda f: Loaded(1))
    with native.telling(told.append):
        assert kept(lambda n: n)(4) == 8
    assert (native.now() - begin, native.making_seconds()) == (0.0, 8.0)
    assert len(told) == 2
    # Loading from disk takes a moment of the limit.
    monkeypatch.setattr(native, "jit", lambda: lambda f: Loaded(0))
    assert kept(lambda n: n)(4) == 8
    assert (native.now() - begin, native.making_seconds()) == (8.0, 8.0)
