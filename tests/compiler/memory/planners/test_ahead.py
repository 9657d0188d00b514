import gc
import importlib
import pkgutil

import pytest

from compiler.memory import planners
from compiler.memory.planners import native
from compiler.memory.planners.ahead import make_all


def test_every_loop_is_made_ahead_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in pkgutil.walk_packages(planners.__path__, f"{planners.__name__}."):
        importlib.import_module(module.name)
    loops = [
        loop
        for loop in gc.get_objects()
        if type(loop) is native.Kept and loop.interpreted.__module__.startswith("compiler.")
    ]
    assert len(loops) >= 6
    called: set[str] = set()

    def interpreted(function):
        def call(*args):
            called.add(function.__module__ + "." + function.__qualname__)
            return function(*args)

        return call

    for loop in loops:
        monkeypatch.setattr(loop, "_loaded", interpreted(loop.interpreted))
    make_all()
    assert called == {f"{x.interpreted.__module__}.{x.interpreted.__qualname__}" for x in loops}
