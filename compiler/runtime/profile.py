"""Time per kernel, measured in runs of the entire program, never by repeating one kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor
from statistics import median
from typing import Any

from compiler.codegen.jit import Library
from compiler.codegen.module import Launch
from compiler.errors import CompileError
from compiler.machine.roofline import Prediction
from compiler.runtime.built import Built
from compiler.runtime.frame import Run


class Profile(dict[str, float]):
    """The minimum time of each launch over all runs, in seconds, by launch name and in order.

    `medians` has the medians by name, and `intervals` has their 95 % confidence intervals. `runs`
    has the seconds of every kernel in each run. Each time includes the separate call of the kernel;
    `call_s` is the time of such a call, 0 if not measured. `predicted` has each generated kernel's
    lower bound on this machine, including the separate call.
    """

    predicted: Mapping[str, Prediction]

    def __init__(self, names: tuple[str, ...], runs: list[list[float]]) -> None:
        by_name = dict(zip(names, zip(*runs, strict=True), strict=True))
        super().__init__((name, min(times)) for name, times in by_name.items())
        self.medians = {name: median(times) for name, times in by_name.items()}
        self.intervals = {name: median_interval(times) for name, times in by_name.items()}
        self.runs = runs
        self.predicted = {}
        self.call_s = 0.0

    @property
    def seconds(self) -> float:
        """Return the sum of the minimum times of all kernels."""
        return sum(self.values())


def median_interval(times: Sequence[float]) -> tuple[float, float]:
    """Return the distribution-free 95 % interval of the median, from order statistics.

    For few measurements, the interval is the range from the minimum to the maximum.
    """
    ordered, n = sorted(times), len(times)
    reach = 1.96 * n**0.5 / 2
    low, high = floor(n / 2 - reach) - 1, ceil(n / 2 + reach)
    return ordered[max(low, 0)], ordered[min(high, n - 1)]


def profile(built: Built, inputs: Mapping[str, Any], repeat: int) -> Profile:
    """Run `repeat` times and time each kernel. Errors: E-TARGET-RUN for another machine's code."""
    executable = built.executable
    if executable is None:
        raise CompileError("E-TARGET-RUN", f"code for {built.target.name} cannot run here")
    calls = launchers(built.library, built.launches)

    def launch(number: int, run: Run, constants: int) -> None:
        calls[number](run, constants)

    launched = tuple(k.name for k in built.kernels if not k.inside)
    runs = [executable.timed(inputs, launch, len(launched))[0] for _ in range(repeat)]
    return Profile(launched, runs)


def launchers(
    library: Library, launches: Mapping[int, Launch]
) -> dict[int, Callable[[Run, int], None]]:
    """Return, for each native launch, a function that runs the launch's kernel."""
    return {
        number: _launcher(
            library.function(launch.symbol, len(launch.args) + len(launch.sizes)), launch
        )
        for number, launch in launches.items()
    }


def _launcher(function: Callable[..., None], launch: Launch) -> Callable[[Run, int], None]:
    places = tuple((a.space, a.offset) for a in launch.args)

    def call(run: Run, constants: int) -> None:
        space = run.space
        bases = {"arena": space.arena_address, "constants": constants, "table": 0}
        pointers = [
            bases[where] + offset
            if where in bases
            else (space.inputs if where == "input" else space.outputs)[offset]
            for where, offset in places
        ]
        function(*pointers, *launch.sizes)

    return call
