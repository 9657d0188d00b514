"""Check of single rewrites: matched nodes and replacement are compared, also on special values.

A rewrite is correct if its replacement computes the same results for all inputs. Results of exact
rules must be bit-identical (except signs of zeros). Results of other rules must be within the error
budget of the rule. Special values expose errors that the inputs of a model do not expose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from itertools import chain
from time import perf_counter
from typing import Any

import numpy as np

from compiler.check.feeds import KINDS, OUT_OF_RANGE, make_feeds, turns
from compiler.check.judge import Verdict, adds_up, judge, keeps_bits, may_underflow
from compiler.check.margins import evaluated, expectations, wide_results
from compiler.check.shrink import shrunk
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.types import TensorType, open_symbols
from compiler.ir.verify import verify
from compiler.ops.evaluation.meaning import evaluate_graph
from compiler.passes.engine.excerpt import RESULT
from compiler.trace import Event, Step

SECONDS_EACH = 2.0
"""The time limit for one rewrite, in seconds; no further inputs are tried after this time."""

MOST_TURNS = 24
"""The maximum number of draws of each kind in `OUT_OF_RANGE`, for tensors with few elements."""

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One application of a rule, as two small graphs: the matched nodes, and their replacement."""

    number: int
    pass_name: str
    step: Step
    before: Graph
    after: Graph


@dataclass(slots=True)
class Rewrites:
    """Collects the rewrites of a pipeline: `run_pipeline` calls `watch` and `progress`."""

    found: list[Rewrite] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    open: list[tuple[Step, Graph, Graph]] = field(default_factory=list)

    def watch(self, step: Step, before: Graph, after: Graph) -> None:
        """Record an applied rule."""
        self.open.append((step, before, after))

    def progress(self, event: Event) -> None:
        """Record the end of the pass that applied the pending rewrites."""
        number = len(self.events)
        self.events.append(event)
        self.found += [Rewrite(number, event.name, *x) for x in self.open]
        self.open.clear()

    def end(self, pass_name: str, graph: Graph) -> None:
        """Record the rewrites of a failed pass, so that these can be judged."""
        before = self.events[-1].after if self.events else graph
        number = len(self.events)
        self.found += [Rewrite(number, pass_name, *x) for x in self.open]
        self.open.clear()
        self.events.append(Event(pass_name, before, before, 0.0))


@dataclass(frozen=True, slots=True)
class Judged:
    """A judged rewrite: the number of inputs tried, and the kind of inputs on which it failed.

    `error` is relative to the scale of the result. An `n_inputs` of 0 means that the rewrite was
    not judged.
    """

    rewrite: Rewrite
    n_inputs: int
    objection: str = ""
    error: float = 0.0
    kind: str = ""

    @property
    def ok(self) -> bool:
        """Return whether the rewrite passed on all inputs tried."""
        return not self.objection


def judge_rewrites(
    rewrites: Rewrites,
    feeds: Sequence[Values] = (),
    *,
    seed: int = 0,
    seconds: float = np.inf,
    seconds_of_model: float = np.inf,
) -> Iterator[Judged]:
    """Judge rewrites on values of the model and on random inputs of each kind.

    Equal rewrites are judged once. The first rewrite of each rule precedes all other rewrites.
    `seconds` limits the total time; `seconds_of_model` limits the time for computing values of the
    model.
    """
    start = perf_counter()
    values = _Values(rewrites.events, feeds, seconds_of_model)
    for rewrite in _in_turn(rewrites.found):
        if perf_counter() - start > seconds:
            return
        yield judge_rewrite(rewrite, values.of(rewrite), seed=seed)


def judge_rewrite(rewrite: Rewrite, known: Sequence[Values] = (), *, seed: int = 0) -> Judged:
    """Judge one rewrite on known inputs, then on random inputs of each kind."""
    try:
        verify(rewrite.after)
    except CompileError as e:
        return Judged(rewrite, 0, f"the replacement is not a valid graph: {e}", np.inf, "structure")
    small = shrunk(rewrite.before, rewrite.after)
    if small is not None:
        judged = _judged(replace(rewrite, before=small[0], after=small[1]), (), seed)
        if judged.ok and judged.n_inputs:
            return replace(judged, rewrite=rewrite)
    return _judged(rewrite, known, seed)


def _judged(rewrite: Rewrite, known: Sequence[Values], seed: int) -> Judged:
    start, n_inputs = perf_counter(), 0
    drawn = ((k, _drawn(rewrite.before, k, seed + i)) for k, i in turns(rewrite.before, MOST_TURNS))
    for kind, given in chain((("model", g) for g in known), drawn):
        if n_inputs and perf_counter() - start > SECONDS_EACH:
            break
        verdict = _on(rewrite, given, kind, seed)
        if verdict is None:
            continue
        n_inputs += 1
        if verdict.objection:
            return Judged(rewrite, n_inputs, verdict.objection, verdict.error, kind)
    return Judged(rewrite, n_inputs)


def _on(rewrite: Rewrite, feeds: Values | None, kind: str, seed: int) -> Verdict | None:
    """Return the verdict for some inputs, or None if the original graph rejects these inputs."""
    if feeds is None:
        return None
    before, after, budget = rewrite.before, rewrite.after, rewrite.step.error
    try:
        own = evaluated(before, feeds)
    except CompileError:
        return None
    try:
        made = evaluated(after, {v.name: feeds[v.name] for v in after.inputs})[RESULT]
    except KeyError as e:
        return Verdict(f"the replacement reads {e}, which the original does not read", np.inf)
    except CompileError as e:
        return Verdict(f"the replacement cannot be computed: {e.message}", np.inf)
    return judge(
        made,
        own[RESULT],
        cache(lambda: expectations(before, feeds, own, seed)[RESULT]),
        budget=budget,
        bits=not budget and keeps_bits(before) and keeps_bits(after),
        loose_infinities=adds_up(before) or adds_up(after),
        underflow=may_underflow(before),
        extreme=kind in OUT_OF_RANGE,
        made_wide=lambda: wide_results(after, feeds)[1][RESULT],
    )


def _drawn(graph: Graph, kind: str, seed: int) -> Values | None:
    types = [v.type for v in graph.inputs]
    first = 3 + list(KINDS).index(kind)
    # Symbols get distinct sizes, which depend on the kind of inputs; size 1 tests broadcasting.
    sizes = {name: first + i for i, name in enumerate(sorted(open_symbols(types)))}
    if kind == "small":
        sizes = dict.fromkeys(sizes, 1)
    try:
        return make_feeds(graph, kind, seed, sizes)
    except (CompileError, MemoryError):
        return None


def _in_turn(found: Sequence[Rewrite]) -> Iterator[Rewrite]:
    """Yield the first rewrite of each rule, then all other rewrites, without duplicates."""
    seen: set[Any] = set()
    first: dict[str, Rewrite] = {}
    others: list[Rewrite] = []
    for rewrite in found:
        key = (rewrite.step.rule, _shape_of(rewrite.before), _shape_of(rewrite.after))
        if key in seen:
            continue
        seen.add(key)
        if first.setdefault(rewrite.step.rule, rewrite) is not rewrite:
            others.append(rewrite)
    yield from first.values()
    yield from others


def _shape_of(graph: Graph) -> Any:
    """Return the structure of a graph without names; equal rewrites have equal structures."""
    number = {name: i for i, name in enumerate(graph.types)}
    return (
        tuple(str(v.type) for v in graph.inputs),
        tuple((str(c.type), _content(c.storage)) for c in graph.constants.values()),
        tuple(
            (
                n.op,
                tuple(number.get(i, -1) for i in n.inputs),
                tuple(map(str, n.types)),
                str(n.attrs),
            )
            for n in graph.nodes
        ),
        tuple(id(g) for n in graph.nodes for g in n.regions.values()),
        number.get(graph.results[0].value, -1),
    )


def _content(storage: Any) -> Any:
    values = getattr(storage, "values", getattr(storage, "value", None))
    small = isinstance(values, np.ndarray | np.generic) and values.size <= 64
    return repr(np.asarray(values).tolist()) if small else id(storage)


class _Values:
    """The model's values that rewrites read.

    The input graph of each pass is evaluated once for all rewrites of the pass.
    """

    def __init__(self, events: Sequence[Event], feeds: Sequence[Values], seconds: float) -> None:
        self.events, self.feeds = events, feeds
        self.end = perf_counter() + seconds
        self.cache: dict[int, list[Values]] = {}

    def of(self, rewrite: Rewrite) -> list[Values]:
        """Return inputs for a rewrite: values of its pass's input graph, else random values."""
        graph = self.events[rewrite.number].before
        known = [v.name for v in rewrite.before.inputs if v.name in graph.types]
        if not known:
            return []
        if rewrite.number not in self.cache:
            self.cache[rewrite.number] = list(self._run(graph))
        drawn = _drawn(rewrite.before, "normal", 1)
        if drawn is None:
            return []
        found: list[Values] = []
        for values in self.cache[rewrite.number]:
            given = {**drawn, **{k: values[k] for k in known if k in values}}
            if all(_fits(given[v.name], v.type) for v in rewrite.before.inputs):
                found.append(given)
        return found

    def _run(self, graph: Graph) -> Iterator[Values]:
        everything = Graph(graph.name, graph.inputs, (), graph.nodes, graph.constants)
        for feeds in self.feeds:
            if perf_counter() > self.end:
                return
            yield _all_values(everything, feeds)


def _all_values(graph: Graph, feeds: Values) -> Values:
    try:
        return evaluate_graph(graph, feeds, keep=graph.types)
    except CompileError:
        return {}


def _fits(value: Any, t: Any) -> bool:
    if not isinstance(t, TensorType) or not isinstance(value, np.ndarray):
        return not isinstance(t, TensorType)
    shape = t.shape
    return (
        value.dtype == t.dtype.numpy
        and (shape is None or len(shape) == value.ndim)
        and all(
            d == s for d, s in zip(shape or (), value.shape, strict=False) if isinstance(d, int)
        )
    )
