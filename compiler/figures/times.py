"""Figures of measured runs: times of runs and kernels, speeds, and their distance from bounds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import inf
from statistics import median
from typing import Literal, TypedDict

from compiler.figures.execution import flops, kernel_bytes, n_uncounted
from compiler.figures.figure import figure
from compiler.machine.machine import Machine
from compiler.machine.roofline import Bound, Prediction
from compiler.runtime.profile import Profile, median_interval
from compiler.runtime.thunks.kernels import KernelInfo

_SLOWEST = 0.9


class Times(TypedDict):
    """Figures of a kernel that is called separately, in seconds; None for unknown bounds."""

    median_s: float
    min_s: float
    low_s: float
    high_s: float
    share: float
    predicted_s: float | None
    roof_s: float | None
    bound: Bound | Literal[""]
    ratio: float | None
    potential_s: float | None


class Speed(TypedDict):
    """Figures of the speed of a kernel, against its roofline."""

    flops_per_s: float | None
    flops_per_byte: float | None
    ceiling_flops_per_s: float | None
    reached: float | None


class Totals(TypedDict):
    """Figures of all kernels of a run, in seconds."""

    kernels_s: float
    predicted_s: float
    run_bound_s: float
    potential_s: float


class RunTimes(TypedDict):
    """Figures of whole runs, in seconds."""

    median_s: float
    min_s: float
    low_s: float
    high_s: float
    slow_s: float
    repeats: int


def run_times(times: Sequence[float]) -> RunTimes:
    """Return all figures of whole runs."""
    low, high = run_interval(times)
    return {
        "median_s": run_median(times),
        "min_s": run_minimum(times),
        "low_s": low,
        "high_s": high,
        "slow_s": run_slow(times),
        "repeats": len(times),
    }


def kernel_times(profile: Profile, name: str) -> Times:
    """Return all figures of a launch's time."""
    middle, (low, high) = kernel_median(profile, name), kernel_interval(profile, name)
    prediction = profile.predicted.get(name)
    bound, roof = separate_bound(prediction), kernel_roof(prediction)
    least = None if bound is None or roof is None else max(bound, roof + profile.call_s)
    return {
        "median_s": middle,
        "min_s": kernel_minimum(profile, name),
        "low_s": low,
        "high_s": high,
        "share": kernel_share(middle, kernels_sum(profile)),
        "predicted_s": bound,
        "roof_s": roof,
        "bound": prediction.bound if prediction else "",
        "ratio": bound_ratio(middle, bound),
        "potential_s": potential(middle, least),
    }


def kernel_speed(kernel: KernelInfo, times: Times) -> Speed:
    """Return all figures of a launch's speed."""
    middle, roof = times["median_s"], times["roof_s"]
    return {
        "flops_per_s": speed(kernel.flops, middle),
        "flops_per_byte": kernel_intensity(kernel.flops, kernel_bytes(kernel)),
        "ceiling_flops_per_s": ceiling(kernel.flops, roof),
        "reached": reached(middle, roof),
    }


def totals(profile: Profile, machine: Machine, run_s: float = inf) -> Totals:
    """Return all figures of the launches together; `run_s` is the median run, if it is known."""
    rows = [kernel_times(profile, name) for name in profile]
    predictions = [profile.predicted[name] for name in profile if name in profile.predicted]
    least = run_bound(predictions, machine)
    return {
        "kernels_s": kernels_sum(profile),
        "predicted_s": separate_bounds(predictions),
        "run_bound_s": least,
        "potential_s": potentials((row["potential_s"] for row in rows), max(run_s - least, 0.0)),
    }


@figure("median run", "s", "result.run.median_s = profile.run.median_s")
def run_median(times: Sequence[float]) -> float:
    """The median time of a whole run: one call of the program, with all its kernels.

    Inputs and outputs are arrays in memory; generating code is not included.
    """
    return median(times)


@figure("fastest run", "s", "result.run.min_s = profile.run.min_s")
def run_minimum(times: Sequence[float]) -> float:
    """The shortest time of a whole run.

    Other load makes runs longer, never shorter.
    """
    return min(times)


@figure(
    "95 % interval of the run",
    "s",
    "result.run.low_s = profile.run.low_s",
    "result.run.high_s = profile.run.high_s",
)
def run_interval(times: Sequence[float]) -> tuple[float, float]:
    """The 95 % confidence interval of the median run, from the order statistics of all runs.

    It makes no assumption about the distribution of times.
    """
    return median_interval(times)


@figure("slow run", "s", "profile.run.slow_s")
def run_slow(times: Sequence[float]) -> float:
    """The 90th percentile of the times of whole runs.

    A time far above the fastest run is a sign of other load on the machine.
    """
    return sorted(times)[min(int(_SLOWEST * len(times)), len(times) - 1)]


@figure("first run", "s", "run.seconds")
def first_run(seconds: float) -> float:
    """The time of the first run of a program, which may generate code for its sizes.

    Later runs are much shorter: see the median run.
    """
    return seconds


@figure("throughput of the run", "flop/s", "result.run.flops_per_s = profile.run.flops_per_s")
def throughput(kernels: Sequence[KernelInfo], median_s: float) -> float | None:
    """The operations of the program per second of the median run; unknown for unknown operations.

    It counts declared operations, so it compares programs of the same model only.
    """
    return flops(kernels) / median_s if median_s and not n_uncounted(kernels) else None


@figure(
    "time of a kernel",
    "s",
    "result.kernels[launched].median_s = profile.kernels[].median_s",
    "run.profile[].median_s",
)
def kernel_median(profile: Profile, name: str) -> float:
    """The median time of a kernel, called separately within runs of the whole program.

    A separate call adds 1 us or more, so the times of all kernels exceed the time of a run.
    """
    return profile.medians[name]


@figure(
    "fastest time of a kernel",
    "s",
    "profile.kernels[].min_s = result.kernels[launched].min_s",
    "run.profile[].min_s",
)
def kernel_minimum(profile: Profile, name: str) -> float:
    """The shortest time of a kernel, called separately.

    Other load makes kernels slower, never faster.
    """
    return profile[name]


@figure(
    "95 % interval of a kernel",
    "s",
    "result.kernels[launched].low_s = profile.kernels[].low_s",
    "result.kernels[launched].high_s = profile.kernels[].high_s",
)
def kernel_interval(profile: Profile, name: str) -> tuple[float, float]:
    """The 95 % confidence interval of the median time of a kernel.

    It follows from the order statistics of the rounds.
    """
    return profile.intervals[name]


@figure("sum of kernels", "s", "profile.totals.kernels_s", "run.totals.kernels_s")
def kernels_sum(profile: Profile) -> float:
    """The sum of the times of all kernels, each called separately.

    It exceeds the time of a run with many short kernels, since a run launches them in one call.
    """
    return sum(profile.medians.values())


@figure("outside kernels", "s", "profile.totals.outside_s")
def outside_kernels(run_s: float, kernels_s: float) -> float:
    """The median run minus the sum of kernels.

    It is negative if one call for all kernels saves more time than the run spends outside kernels.
    """
    return run_s - kernels_s


@figure("separate call", "s", "profile.totals.call_s")
def separate_call(separate_s: Collection[float], together_s: float) -> float:
    """The time that a separate call adds to a kernel, as measured.

    It is the sum of kernels minus the time of all kernels in one call, divided by their number. It
    is at most the time of the shortest kernel, because each time includes one call.
    """
    if not separate_s:
        return 0.0
    return max(0.0, min((sum(separate_s) - together_s) / len(separate_s), *separate_s))


@figure("share of a kernel", "share", "profile.kernels[].share", "run.profile[].share")
def kernel_share(median_s: float, kernels_s: float) -> float:
    """The time of a kernel divided by the sum of kernels.

    The shares of all kernels sum to 100 %.
    """
    return median_s / kernels_s if kernels_s else 0.0


@figure(
    "lower bound, separate call",
    "s",
    "profile.kernels[].predicted_s = run.profile[].predicted_s",
)
def separate_bound(prediction: Prediction | None) -> float | None:
    """A lower bound of a kernel's time on this machine, with a separate call as in measurements.

    It is the roofline time of the kernel plus the cost of a call from Python.
    """
    return prediction.seconds if prediction else None


@figure("roofline of a kernel", "s", "profile.kernels[].roof_s = run.profile[].roof_s")
def kernel_roof(prediction: Prediction | None) -> float | None:
    """A lower bound of a kernel's time without any call.

    It is the longer of two times: its operations at peak speed, and its bytes at the bandwidths of
    the memory levels that supply them.
    """
    return prediction.roof_seconds if prediction else None


@figure("lower bound, separate calls", "s", "profile.totals.predicted_s", "run.totals.predicted_s")
def separate_bounds(predictions: Iterable[Prediction]) -> float:
    """The sum of the lower bounds of all kernels, each with a separate call.

    It bounds the sum of kernels. It may exceed the time of a run, which launches all kernels in one
    call. Kernels without a bound add nothing.
    """
    return sum(p.seconds for p in predictions)


@figure("lower bound of the run", "s", "profile.totals.run_bound_s", "run.totals.run_bound_s")
def run_bound(predictions: Sequence[Prediction], machine: Machine) -> float:
    """A lower bound of the time of a whole run on this machine, with one call for all kernels.

    It is the sum of the roofline times of all kernels, plus one call from Python. Each kernel after
    the first adds the cost of a launch inside a run. Kernels without a bound add nothing.
    """
    further = max(len(predictions) - 1, 0)
    launches = further * machine.launch_seconds + machine.call_seconds
    return sum(p.roof_seconds for p in predictions) + launches


@figure("ratio to the bound", "ratio", "profile.kernels[].ratio", "run.profile[].ratio")
def bound_ratio(median_s: float, bound_s: float | None) -> float | None:
    """The time of a kernel divided by its lower bound with a separate call.

    If the ratio is below 1, the assumed speeds of the machine are too low: they are estimated, or
    were measured under load.
    """
    return median_s / bound_s if bound_s else None


@figure("potential", "s", "profile.kernels[].potential_s", "run.profile[].potential_s")
def potential(median_s: float, least_s: float | None) -> float | None:
    """The time of a kernel minus its roofline time and its call: a bound of what schedules save.

    The cost of the call is the measured cost or the cost in the lower bound, whichever is larger.
    The potential is 0 for a kernel that takes no longer than its roofline time and its call.
    """
    return None if least_s is None else max(0.0, median_s - least_s)


@figure("worth optimising", "s", "profile.totals.potential_s", "run.totals.potential_s")
def potentials(of_kernels: Iterable[float | None], most_s: float) -> float:
    """The sum of the potentials of all kernels, at most the median run minus its lower bound.

    Kernels without a bound add nothing.
    """
    return min(sum(p for p in of_kernels if p is not None), most_s)


@figure("speed of a kernel", "flop/s", "profile.kernels[].flops_per_s")
def speed(n_flops: int, median_s: float) -> float | None:
    """The declared operations of a kernel per second of its time.

    The time includes the separate call.
    """
    return n_flops / median_s if median_s else None


@figure("intensity of a kernel", "flop/B", "profile.kernels[].flops_per_byte")
def kernel_intensity(n_flops: int, nbytes: int) -> float | None:
    """The operations of a kernel per byte of its operands and results.

    It is the horizontal axis of the roofline plot.
    """
    return n_flops / nbytes if nbytes else None


@figure("ceiling of a kernel", "flop/s", "profile.kernels[].ceiling_flops_per_s")
def ceiling(n_flops: int, roof_s: float | None) -> float | None:
    """The operations per second that the roofline allows a kernel, without any call.

    It follows from the memory levels that supply the operands, so it may lie between the lines of
    the plot.
    """
    return n_flops / roof_s if roof_s else None


@figure("share of the ceiling", "share", "profile.kernels[].reached")
def reached(median_s: float, roof_s: float | None) -> float | None:
    """The roofline time of a kernel divided by its measured time.

    It is low for short kernels, because most of their time is the overhead of the call. Above
    100 %, the assumed speeds of the machine are too low: they are estimated, or were measured
    under load.
    """
    return roof_s / median_s if roof_s and median_s else None
