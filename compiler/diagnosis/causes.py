"""The causes of a kernel's time: `@cause(title, *actions)` above the function that finds one.

The docstring of the function is the definition of the cause. The function returns the evidence in
one or two sentences, or None. `diagnose` returns the first cause that is found: the causes are in
the order in which an engineer excludes them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypedDict

from compiler.dataclass import dataclass
from compiler.diagnosis.actions import ACTIONS, Action
from compiler.diagnosis.facts import Facts
from compiler.diagnosis.work import Kind
from compiler.units import (
    bytes_text,
    count_text,
    flops_text,
    percent_text,
    ratio_text,
    seconds_text,
)

CALLS = 4
"""Greatest ratio of a kernel's time to the time of a call that call overhead can explain."""
BUSY = 1.5
"""Least ratio of a kernel's time to its estimate that indicates a measurement under other load."""
NEAR_ROOF = 0.7
"""Least ratio of the roofline time to the time at which the machine, not the code, is the limit."""
EXPLAINED = 0.5
"""Least share of the time above the roofline time that the work of a cause must explain."""

Find = Callable[[Facts], str | None]


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause of a kernel's time, with its definition and the actions that address it."""

    name: str
    title: str
    words: str
    actions: tuple[Action, ...]
    find: Find


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The cause of one kernel's time, with its evidence and the actions that apply."""

    cause: Cause
    evidence: str
    actions: tuple[Action, ...]


class NextAction(TypedDict):
    """An action with its description."""

    action: Action
    words: str


class DiagnosisFields(TypedDict):
    """The cause of a kernel's time: its name, title, definition and evidence, and the actions."""

    cause: str
    title: str
    words: str
    evidence: str
    actions: list[NextAction]


def diagnosis_json(found: Diagnosis) -> DiagnosisFields:
    """Return a diagnosis as JSON data."""
    return {
        "cause": found.cause.name,
        "title": found.cause.title,
        "words": found.cause.words,
        "evidence": found.evidence,
        "actions": [{"action": a, "words": ACTIONS[a]} for a in found.actions],
    }


CAUSES: dict[str, Cause] = {}
"""All causes by name, in the order of their examination."""


def cause(title: str, *actions: Action) -> Callable[[Find], Find]:
    """Declare a cause that the decorated function finds."""

    def declare(find: Find) -> Find:
        words = " ".join(inspect.cleandoc(find.__doc__ or "").split())
        CAUSES[find.__name__] = Cause(find.__name__, title, words, actions, find)
        return find

    return declare


def diagnose(facts: Facts) -> Diagnosis:
    """Return the first cause that is found."""
    for each in CAUSES.values():
        if evidence := each.find(facts):
            return Diagnosis(each, evidence, _applicable(each.actions, facts))
    raise AssertionError("the last cause is always found")


def _applicable(actions: tuple[Action, ...], facts: Facts) -> tuple[Action, ...]:
    """Return the actions that can have an effect on this kernel."""
    unfit: set[Action] = set()
    if facts.threads >= facts.n_processors:
        unfit.add("threads")
    if facts.precision != "f32":
        unfit.add("precision")
    if facts.kernel.computation is None:
        unfit.update(("tune", "schedule"))
    return tuple(a for a in actions if a not in unfit)


@cause("runs in the reference implementation", "reference")
def reference_implementation(facts: Facts) -> str | None:
    """No code was generated for the node, so numpy computes it, node by node."""
    return None if facts.kernel.native else f"{facts.kernel.because}."


@cause("control flow", "assembly")
def control_flow(facts: Facts) -> str | None:
    """The kernel is a branch or a loop, whose time is the time of the kernels in its regions."""
    if not facts.n_inside:
        return None
    return f"Its regions run {count_text(facts.n_inside, 'kernel')}."


@cause("call overhead", "fuse", "batch")
def launch_overhead(facts: Facts) -> str | None:
    """The kernel computes for less time than its call takes.

    Kernels are called separately only for measurements. A run launches all kernels in one call,
    so most of this overhead disappears.
    """
    if facts.prediction is None or facts.times["median_s"] > CALLS * facts.call_s:
        return None
    if facts.computing_s > facts.call_s:
        return None
    inside = seconds_text(facts.machine.launch_seconds)
    rest = (
        " They do not explain the rest of the measured time; a busy machine is one reason."
        if facts.times["median_s"] > BUSY * (facts.computing_s + facts.call_s)
        else ""
    )
    return (
        f"By estimates, its loops compute for {seconds_text(facts.computing_s)}, and a separate "
        f"call takes {seconds_text(facts.call_s)}.{rest} Within a run, a launch takes {inside}."
    )


@cause("memory bandwidth", "fuse", "precision", "threads")
def memory_bandwidth(facts: Facts) -> str | None:
    """The kernel reads and writes memory about as fast as the machine can.

    Only less traffic makes it faster: larger fusions, or smaller element types.
    """
    if facts.prediction is None or facts.reached < NEAR_ROOF or facts.prediction.roof == "compute":
        return None
    level = facts.prediction.roof
    moved = bytes_text(round(facts.prediction.traffic.get(level, 0.0)))
    return f"Its transfers include {moved} at {level}. {_near_roof(facts)}"


@cause("arithmetic", "precision", "threads")
def arithmetic(facts: Facts) -> str | None:
    """The kernel computes about as fast as the multiplication units of the machine can.

    Only fewer or cheaper operations make it faster: another algorithm, or smaller element types.
    """
    if facts.prediction is None or facts.reached < NEAR_ROOF:
        return None
    unit = facts.prediction.unit
    return f"Its {flops_text(facts.kernel.flops)} use the {unit} unit. {_near_roof(facts)}"


@cause("varying times", "again")
def varying_times(facts: Facts) -> str | None:
    """Some times of the kernel are near the bound of the machine, and others are far from it.

    Usually other processes on the machine delay the kernel. A measurement without them finds the
    cause.
    """
    low_s = facts.times["low_s"] - facts.call_s
    if facts.prediction is None or low_s <= 0:
        return None
    roof_s = facts.prediction.roof_seconds
    if roof_s < NEAR_ROOF * low_s:
        return None
    low, high = (seconds_text(facts.times[key]) for key in ("low_s", "high_s"))
    return (
        f"The interval of its median is {low} to {high}, and its roofline is "
        f"{seconds_text(roof_s)}."
    )


def _near_roof(facts: Facts) -> str:
    if facts.reached > 1:
        return "It is faster than the known speeds of this machine allow: measure the machine."
    return f"It reaches {percent_text(facts.reached)} of the speed of this machine."


def _explains(facts: Facts, seconds: float) -> bool:
    """Return whether an estimated time explains most of the time above the roofline time."""
    roof_s = facts.prediction.roof_seconds if facts.prediction else 0.0
    return seconds >= EXPLAINED * max(facts.busy_s - roof_s, 0.0) > 0


def _by_work(facts: Facts, kind: Kind, what: str) -> str | None:
    """Return the evidence that one kind of work, described by `what`, is the cause."""
    seconds = facts.work_s(kind)
    return f"{what} take {_share(facts, seconds)}." if _explains(facts, seconds) else None


def _share(facts: Facts, seconds: float) -> str:
    """Return an estimated time in words; an estimate above the measured time gets no number."""
    if seconds >= facts.busy_s:
        return "all of this time, by an estimate"
    return f"about {seconds_text(seconds)}"


@cause("functions", "precision", "assembly")
def functions(facts: Facts) -> str | None:
    """Functions such as exp take long, since each is a polynomial of many operations.

    The roofline counts a function as one operation, so its bound is too low for this kernel.
    """
    seconds = facts.work_s("function")
    if facts.work is None or not _explains(facts, seconds):
        return None
    return f"Its calls of {', '.join(facts.work.functions[:3])} take {_share(facts, seconds)}."


@cause("accesses with a stride", "layout", "schedule")
def strided_access(facts: Facts) -> str | None:
    """Lanes of a vector access elements that are not adjacent, so each is accessed separately.

    Another layout of the operand, or another order of the loops, makes the accesses contiguous.
    """
    return _by_work(facts, "strided", "Its accesses to elements that are not adjacent")


@cause("computed indices", "schedule", "assembly")
def computed_indices(facts: Facts) -> str | None:
    """Elements whose indices are data are accessed one after another, not as vectors."""
    return _by_work(facts, "computed", "Its accesses at computed indices")


@cause("scalar code", "schedule", "tune", "layout")
def scalar_code(facts: Facts) -> str | None:
    """Outside vector loops, each instruction computes a single element."""
    return _by_work(facts, "scalar", "Its statements outside vector loops")


@cause("short rows", "layout", "schedule")
def short_rows(facts: Facts) -> str | None:
    """Rows are shorter than vectors, so some lanes compute nothing."""
    idle = facts.work.idle_lanes if facts.work is not None else 0.0
    if not _explains(facts, idle * facts.work_s("vector")):
        return None
    return f"{percent_text(idle)} of its vector lanes have no element."


@cause("schedule", "tune", "schedule", "assembly")
def schedule(facts: Facts) -> str:
    """The loops have no conspicuous fault, and are far from the bound of the machine.

    Typical reasons are small extents, operands that arrive late, and too few independent sums.
    """
    busy = f"It takes {seconds_text(facts.busy_s)} without the call"
    if not facts.reached or facts.prediction is None:
        return f"{busy}. It has no lower bound."
    roof = seconds_text(facts.prediction.roof_seconds)
    return f"{busy}, {ratio_text(1 / facts.reached)} times its roofline of {roof}."
