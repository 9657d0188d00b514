"""Named quantities of a graph and of its program, with units; most of them are deterministic.

Kernels and bytes are counted for one fixed target: the counts are equal on every machine and in the
browser. Compiled quantities count the machine code for this target. Timed quantities run machine
code for this machine, and have intervals.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from compiler.check.errors import errors_of
from compiler.check.feeds import make_feeds
from compiler.check.margins import evaluated, wide_results
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.figures.figure import TEXTS, Unit
from compiler.ir.graph import Graph, Node, all_nodes
from compiler.ir.operator import OPERATORS, Cost
from compiler.ir.types import TensorType
from compiler.passes.cleanup.fold_constants import held_bytes
from compiler.passes.engine.cost import CORE, graph_cost, node_cost
from compiler.runtime.preview import Preview, preview
from compiler.runtime.thunks.select import Unlaunched, inner_thunks
from compiler.targets.target import Target, by_name

if TYPE_CHECKING:
    from compiler.codegen.listing import Counts

TARGET = "x86-64-v3"
"""The target of deterministic quantities."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A value with its unit; a measured value has an interval."""

    value: float
    unit: Unit = "count"
    low: float | None = None
    high: float | None = None

    @property
    def is_measured(self) -> bool:
        """Whether the value varies from run to run."""
        return self.low is not None

    def text(self, filter: str = "") -> str:
        """Return the value with its unit, and with its interval if it has one."""
        write = FILTERS[filter] if filter else TEXTS[self.unit]
        if self.low is None or self.high is None:
            return write(self.value)
        return f"{write(self.value)} ({write(self.low)} to {write(self.high)})"

    def to_json(self) -> dict[str, Any]:
        """Return the amount as data, with its text."""
        found = {"value": self.value, "unit": self.unit, "text": self.text()}
        return found if self.low is None else {**found, "low": self.low, "high": self.high}


FILTERS: Mapping[str, Callable[[Any], str]] = {
    "bytes": TEXTS["B"],
    "seconds": TEXTS["s"],
    "flops": TEXTS["flop"],
    "rate": TEXTS["flop/s"],
    "count": TEXTS["count"],
    "percent": TEXTS["share"],
    "ratio": TEXTS["ratio"],
    "error": TEXTS["error"],
}
"""The filters of references, by name."""


class CompiledProgram(Protocol):
    """The part of a program that compiled quantities read."""

    def emit(self, kind: str) -> Any:
        """Return the program at one level."""


@dataclass
class Subject:
    """A graph after its passes; derived data are computed on demand.

    The inputs of timed runs have the types of the inputs of `fed`, by default those of the source.
    """

    graph: Graph
    options: Mapping[str, Any] = field(default_factory=dict)
    source: Graph | None = None
    fed: Graph | None = None

    @cached_property
    def preview(self) -> Preview:
        """The execution of the graph on the fixed target, in the order that the options name."""
        limit = self.options.get("memory_limit_bytes")
        return preview(self.graph, fixed_target(), self.options.get("order", "best"), limit)

    @cached_property
    def program(self) -> CompiledProgram:
        """The program for the fixed target. Errors: those of compiling."""
        from compiler.cached import compile as compile_program

        options: dict[str, Any] = {**self.options, "target": TARGET}
        return compile_program(self.source or self.graph, **options)

    @cached_property
    def feeds(self) -> Mapping[str, Any]:
        """Random inputs, which are equal for all subjects with the same source."""
        return make_feeds(self.source or self.graph, "normal", 0)

    @cached_property
    def results(self) -> Mapping[str, Any]:
        """The results of the reference on the random inputs."""
        return evaluated(self.graph, self.feeds)

    @cached_property
    def cost(self) -> Cost:
        """The cost of all nodes whose cost is known."""
        return graph_cost(self.graph)[0]

    @cached_property
    def contraction_cost(self) -> Cost:
        """The cost of all contractions of known cost that are outside fusions."""
        types = self.graph.types
        nodes = filter(_is_contraction, self.graph.nodes)
        costs = (node_cost(n, types.__getitem__) for n in nodes)
        return sum(filter(None, costs), Cost())


def fixed_target() -> Target:
    """Return the target of deterministic quantities."""
    return by_name(TARGET)


Needs = Literal["graph", "devices", "numbers", "code", "compiling", "time"]
"""What a quantity needs.

- "graph": the graph alone
- "devices": the devices of a platform; `course/placed.py` declares these quantities
- "numbers": an evaluation by the reference on random inputs
- "code": machine code for the fixed target
- "compiling": timed compilations (`course/compile_times.py`)
- "time": timed runs
"""


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """A quantity: name, unit, description, what it needs, and its function of a subject."""

    name: str
    unit: Unit
    words: str
    needs: Needs
    compute: Callable[[Subject], float]

    @property
    def is_timed(self) -> bool:
        """Whether the quantity is a measured time."""
        return self.needs in ("compiling", "time")

    @property
    def is_counted(self) -> bool:
        """Whether the quantity follows from the graph alone, so that a page can count it."""
        return self.needs == "graph"

    def of(self, subject: Subject) -> Amount:
        """Return the quantity of a graph. Timed quantities need `measured`."""
        return Amount(self.compute(subject), self.unit)


QUANTITIES: dict[str, Quantity] = {}


def quantity(
    unit: Unit, needs: Needs = "graph"
) -> Callable[[Callable[[Subject], float]], Callable[[Subject], float]]:
    """Declare a function from a subject to a number as the quantity named after it."""

    def declare(fn: Callable[[Subject], float]) -> Callable[[Subject], float]:
        words = inspect.getdoc(fn) or ""
        QUANTITIES[fn.__name__] = Quantity(fn.__name__, unit, words, needs, fn)
        return fn

    return declare


def quantity_named(name: str) -> Quantity:
    """Return a quantity by name. Errors: E-LESSON-BLOCK."""
    if name not in QUANTITIES:
        message = f"no quantity is named {name!r:.40}; quantities: {', '.join(QUANTITIES)}"
        raise CompileError("E-LESSON-BLOCK", message)
    return QUANTITIES[name]


def counted(subject: Subject) -> dict[str, Amount]:
    """Return by name all quantities that follow from the graph alone."""
    return {q.name: q.of(subject) for q in QUANTITIES.values() if q.is_counted}


@quantity("count")
def nodes(subject: Subject) -> float:
    """The number of nodes of the graph; the nodes inside a fusion count, the fusion does not."""
    return sum(1 for n in all_nodes(subject.graph) if n.op != "fusion")


@quantity("count")
def parameters(subject: Subject) -> float:
    """The number of elements of all floating-point constants; the weights of a model."""
    return sum(c.type.n_elements for c in subject.graph.constants.values() if c.type.dtype.is_float)


@quantity("count")
def kernels(subject: Subject) -> float:
    """The number of launches of one run: generated kernels and fallbacks."""
    return sum(not k.inside for k in subject.preview.kernels)


@quantity("count")
def fallbacks(subject: Subject) -> float:
    """The number of nodes that the reference implementation runs."""
    return len(subject.preview.fallbacks)


@quantity("flop")
def flops(subject: Subject) -> float:
    """The floating-point operations of one run, as the operators declare them."""
    return subject.cost.flops


@quantity("B")
def bytes(subject: Subject) -> float:
    """The bytes that kernels read and write in one run, if every operand comes from memory."""
    return subject.cost.bytes_moved


@quantity("count")
def copies(subject: Subject) -> float:
    """The number of nodes that only copy a value to another memory layout."""
    return sum(n.op == "relayout" for n in all_nodes(subject.graph))


@quantity("count")
def contractions(subject: Subject) -> float:
    """The number of matrix products and convolutions, inside and outside of fusions."""
    return sum(map(_is_contraction, all_nodes(subject.graph)))


@quantity("share")
def contraction_flops(subject: Subject) -> float:
    """The share of matrix products and convolutions in the operations of one run."""
    return subject.contraction_cost.flops / max(subject.cost.flops, 1)


@quantity("share")
def contraction_bytes(subject: Subject) -> float:
    """The share of matrix products and convolutions in the memory traffic, before any fusion."""
    return subject.contraction_cost.bytes_moved / max(subject.cost.bytes_moved, 1)


def _is_contraction(node: Node) -> bool:
    operator = OPERATORS.get(node.op)
    return operator is not None and operator.kind == "contraction"


@quantity("flop/B")
def intensity(subject: Subject) -> float:
    """The arithmetic intensity: operations per byte of memory traffic."""
    return subject.cost.flops / max(subject.cost.bytes_moved, 1)


@quantity("B")
def peak_bytes(subject: Subject) -> float:
    """The size of the arena in which all intermediate values live."""
    return subject.preview.plan.peak_bytes


@quantity("B")
def live_bytes(subject: Subject) -> float:
    """The most bytes of intermediate values that are live at one step: a bound of every plan."""
    return subject.preview.plan.lower_bound_bytes


@quantity("B")
def listed_live_bytes(subject: Subject) -> float:
    """The most bytes of intermediate values that are live at a node, in the order of the text."""
    graph = subject.graph
    last = {r: i for i, n in enumerate(graph.nodes) for r in n.reads}
    results = {r.value for r in graph.results}
    live = most = 0
    ends: dict[int, int] = {}
    for i, node in enumerate(graph.nodes):
        for v in node.values():
            if v.name in results or not isinstance(v.type, TensorType) or not v.type.is_static:
                continue
            live += v.type.nbytes
            end = last.get(v.name, i)
            ends[end] = ends.get(end, 0) + v.type.nbytes
        most = max(most, live)
        live -= ends.pop(i, 0)
    return most


@quantity("B")
def unshared_bytes(subject: Subject) -> float:
    """The size of an arena in which no two buffers share memory."""
    return subject.preview.plan.unshared_bytes


@quantity("count")
def buffers(subject: Subject) -> float:
    """The number of buffers of intermediate values; values that share their memory have one."""
    return len(subject.preview.plan.buffers)


@quantity("count")
def views(subject: Subject) -> float:
    """The number of nodes without a launch: their results use the memory of other values."""
    return sum(isinstance(thunk, Unlaunched) for thunk in subject.preview.thunks)


@quantity("B")
def weight_bytes(subject: Subject) -> float:
    """The bytes of all constants of the graph."""
    return sum(c.type.nbytes for c in subject.graph.constants.values())


@quantity("B")
def stored_bytes(subject: Subject) -> float:
    """The bytes that a file stores for all constants: one element if all elements are equal."""
    return sum(map(held_bytes, subject.graph.constants.values()))


@quantity("count")
def loop_lines(subject: Subject) -> float:
    """The number of lines of the loops of all generated kernels."""
    kernels = (thunk.scheduled.kernel for thunk in inner_thunks(subject.preview.thunks))
    return sum(str(kernel).count("\n") + 1 for kernel in kernels)


@quantity("error", needs="numbers")
def error(subject: Subject) -> float:
    """The largest error of a result of the reference on random inputs, relative to its scale.

    The yardstick is the graph before all passes, computed in f64.
    """
    wide = wide_results(subject.source or subject.graph, subject.feeds)[1]
    return max((e.relative for e in errors_of(subject.results, wide)), default=0.0)


@quantity("share", needs="numbers")
def changed(subject: Subject) -> float:
    """The share of elements of results whose bits differ from those before all passes."""
    before = evaluated(subject.source or subject.graph, subject.feeds)
    after = subject.results
    pairs = [(np.asarray(before[name]), np.asarray(after[name])) for name in before]
    different = sum(int(((a != b) & ~((a != a) & (b != b))).sum()) for a, b in pairs)
    return different / max(sum(a.size for a, _ in pairs), 1)


@quantity("count", needs="code")
def llvm_lines(subject: Subject) -> float:
    """The number of lines of the LLVM text, without blank lines and comments."""
    lines = str(subject.program.emit("llvm")).splitlines()
    return sum(bool(line.strip()) and not line.lstrip().startswith(";") for line in lines)


@quantity("count", needs="code")
def instructions(subject: Subject) -> float:
    """The number of machine instructions of the program; each counts once, in loops too."""
    return _instructions(subject).n_instructions


@quantity("count", needs="code")
def vector_instructions(subject: Subject) -> float:
    """The number of machine instructions that compute, move or permute vectors."""
    found = _instructions(subject).by_class
    return sum(n for name, n in found.items() if name not in ("scalar", "branch"))


def _instructions(subject: Subject) -> Counts:
    from compiler.codegen.listing import counts

    return counts(str(subject.program.emit("asm")), fixed_target())


@quantity("s")
def modelled_seconds(subject: Subject) -> float:
    """The time of one run by the roofline model of a typical core."""
    return CORE.seconds(subject.cost, int(kernels(subject)))


@quantity("s", needs="time")
def seconds(subject: Subject) -> float:
    """The median time of one run on this machine; the interval has 95 % confidence."""
    raise AssertionError("measured together with other subjects")


Alone = Callable[[], AbstractContextManager[object]]
"""A function that returns the context of a measurement: the measuring slot of a server."""


def measured(
    subjects: Mapping[str, Subject], budget_s: float, alone: Alone = nullcontext
) -> tuple[dict[str, Amount], dict[str, tuple[float, ...]]]:
    """Time the programs of several subjects in interleaved rounds, for `budget_s` seconds.

    The rounds run in the context `alone`, after all compilations. Returns the median time of each
    subject, and the times of its rounds. Errors: those of compiling and running.
    """
    from compiler.bench.timing import WARM_UP_S, interleaved
    from compiler.cached import compile as compile_program
    from compiler.runtime.inputs import random_inputs

    calls: dict[str, Callable[[], object]] = {}
    for name, s in subjects.items():
        program = compile_program(s.source or s.graph, **s.options)
        inputs = random_inputs(s.fed or s.source or s.graph, 0)
        calls[name] = lambda program=program, inputs=inputs: program.run(inputs)
    with alone():
        times = interleaved(calls, budget_s, warm_up_seconds=min(budget_s, WARM_UP_S))
    rounds = {name: t.seconds for name, t in times.items()}
    return {name: median_of(t) for name, t in rounds.items()}, rounds


def median_of(rounds: Sequence[float]) -> Amount:
    """Return the median of times in seconds, with its 95 % confidence interval."""
    from compiler.runtime.profile import median_interval

    return Amount(median(rounds), "s", *median_interval(rounds))


def ratio_of(over: Amount, under: Amount) -> Amount:
    """Return a quotient; its interval, if any, contains all quotients of values in the
    intervals."""
    value = over.value / under.value if under.value else float("inf")
    if over.low is None and under.low is None:
        return Amount(value, "ratio")
    low = (over.low if over.low is not None else over.value) / (
        under.high if under.high is not None else under.value
    )
    high = (over.high if over.high is not None else over.value) / (
        under.low if under.low is not None else under.value
    )
    return Amount(value, "ratio", low, high)
