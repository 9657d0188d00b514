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
    monkeypatch.setattr(native, "_machine_code", lambda _: lambda: called.append("machine code"))
    made.soon()
    monkeypatch.setattr(native, "LOADING_SECONDS", 0.0)
    made.soon()
    monkeypatch.setattr(native, "LOADING_SECONDS", 9.0)
    made.soon()
    assert called == ["interpreted", "machine code", "machine code"]
