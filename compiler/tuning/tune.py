"""Tuning of a model: search for a schedule of each computation, then verification in the model.

A schedule is retained only if its results are correct and it is faster than the policy's schedule.
In interleaved timing, the difference must exceed the noise. The schedule must also make runs of the
model faster, because a kernel that is faster alone may evict other kernels' data from the caches.
Tuning therefore does not make a program slower.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from math import inf
from os import PathLike
from time import perf_counter
from typing import Any, Literal

from compiler.dataclass import dataclass
from compiler.driver import compile
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.machine.database import Database, Entry, Tuned, default_path, machine_key
from compiler.options import Options
from compiler.runtime.inputs import random_inputs
from compiler.runtime.program import Program
from compiler.runtime.threads import code_options
from compiler.tuning.annealing import INSTALL, AnnealingSearch, Experience, has_model
from compiler.tuning.explore import Trial, Walk, explore
from compiler.tuning.features import features
from compiler.tuning.judge import Judge, Verdict
from compiler.tuning.report import KernelReport, TuningReport
from compiler.tuning.search import GeneticSearch, RandomSearch, Search
from compiler.tuning.space import Point, Space, space_of
from compiler.tuning.task import Task, tasks_of

SearchName = Literal["annealing", "genetic", "random"]
SEARCHES: Mapping[SearchName, type[Search]] = {
    "annealing": AnnealingSearch,
    "genetic": GeneticSearch,
    "random": RandomSearch,
}
LEARNED: SearchName = "annealing"
"""The search that needs the learned cost model."""


def missing_for(search: SearchName) -> str:
    """Return the command that installs the package of a search; "" if the search can run here."""
    return INSTALL if search == LEARNED and not has_model() else ""


def default_search() -> SearchName:
    """Return the first search that can run here."""
    return next(search for search in SEARCHES if not missing_for(search))


NOISE = 0.02
"""The minimum relative speedup for which a schedule is retained."""

CANDIDATE_SECONDS = 0.02
CONFIRM_SECONDS = 0.25
N_CONFIRMED = 3
"""The number of candidates per computation that are timed longer; the fastest of these candidates
is used."""

CONFIRMING, VERIFYING = 0.15, 0.15
"""The fractions of the time budget for timing the best candidates longer, and for timing the
model."""

MOST_SEEDS = 1 << 31

MOST_BYTES = 1 << 29
"""The maximum memory, in bytes, for the operands of all kernels whose search is suspended."""

LEAST_VERIFYING_SECONDS = 0.5

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Watch:
    """An observer of tuning, which may also stop the tuning.

    `began` is called with the computations before the first candidate, `tried` with each batch of
    candidates. `stopped` is called between batches; if it returns True, tuning ends and retains the
    results so far. `only` restricts tuning to the named kernels; by default all kernels are tuned.
    """

    began: Callable[[Sequence[Task]], None] = lambda tasks: None
    tried: Callable[[Sequence[Trial]], None] = lambda trials: None
    stopped: Callable[[], bool] = lambda: False
    only: Collection[str] = ()


def tune(
    graph: Graph | str | PathLike[str] | bytes,
    *,
    budget_seconds: float = 60.0,
    search: SearchName | None = None,
    seed: int = 0,
    database: str | PathLike[str] | None = None,
    tell: Tell = lambda what: None,
    watch: Watch | None = None,
    **options: Any,
) -> TuningReport:
    """Tune a model's kernels on this machine and store faster schedules in a database.

    `options` are the options of `compile`; later programs with these options use the schedules. The
    default database is in the user's cache folder. The default search is the first of `SEARCHES`
    that can run here. An interrupted search retains its results, so that a later search can
    continue.
    Errors: those of `compile`, E-TUNE-MODEL, E-TUNE-DATABASE, E-OPTION-VALUE.
    """
    chosen = search or default_search()
    if chosen not in SEARCHES:
        raise CompileError("E-OPTION-VALUE", f"{chosen!r:.40} is not one of {', '.join(SEARCHES)}")
    if not 0 < budget_seconds < inf:
        words = f"expected a positive number of seconds as budget, got {budget_seconds}"
        raise CompileError("E-OPTION-VALUE", words)
    if not 0 <= seed < MOST_SEEDS:
        words = f"expected a seed from 0 to {MOST_SEEDS - 1}, got {seed}"
        raise CompileError("E-OPTION-VALUE", words)
    asked = Options(**options)
    tuning = _Tuning(graph, asked, chosen, seed, _database(database), tell, watch or Watch())
    return tuning.run(budget_seconds)


def _database(named: str | PathLike[str] | None) -> Database:
    path = default_path() if named is None else named
    if path is None:
        raise CompileError(
            "E-TUNE-DATABASE",
            "COMPILARIUM_CACHE is empty: there is no default database for tuning",
            hint="name a file with --database",
        )
    return Database(path)


class _Tuning:
    """One tuning of a model, with the state that its steps share."""

    def __init__(
        self,
        graph: Graph | str | PathLike[str] | bytes,
        options: Options,
        search: SearchName,
        seed: int,
        database: Database,
        tell: Tell,
        watch: Watch,
    ) -> None:
        self.graph, self.options = graph, options
        self.search: SearchName = search
        self.seed = seed
        self.database, self.tell, self.watch = database, tell, watch
        self.untuned = self._compiled({})
        if self.untuned.is_open or self.untuned.serves_all_sizes:
            raise CompileError(
                "E-TUNE-MODEL", "tuning needs known sizes", hint="give shapes: --shape"
            )
        if self.untuned.target.name != "host":
            raise CompileError("E-TUNE-MODEL", "only code for this machine can be timed")
        self.inputs = random_inputs(self.untuned.source, seed)
        self.code, _ = code_options(self.untuned.target, options.threads)
        self.machine = machine_key(self.code)
        self.known = database.entries(self.machine)
        self.experience = Experience()
        self.judges: dict[str, Judge] = {}
        self.report = TuningReport([], search, seed, str(database.path))

    def run(self, budget_seconds: float) -> TuningReport:
        """Run all steps of tuning and return the report."""
        start = perf_counter()
        profile = self.untuned.profile(self.inputs, 10)
        tasks = [t for t in tasks_of(self.untuned, profile) if self._is_wanted(t)]
        self.watch.began(tasks)
        walks = [(t, self._walk(t)) for t in tasks if not self._is_known(t)]
        search_end = start + budget_seconds * (1 - CONFIRMING - VERIFYING)
        explore(
            [w for _, w in walks], search_end - perf_counter(), perf_counter, self.watch.stopped
        )
        self.report.interrupted = any(w.why_stopped == "interrupted" for _, w in walks)
        self.report.kernels += [_as_known(_reported(t), self.known[t.key])
                                for t in tasks if self._is_known(t)]  # fmt: skip
        self._confirm([(t, w) for t, w in walks if w.n_batches], budget_seconds * CONFIRMING)
        self.judges.clear()
        least = 0.0 if self.report.interrupted else LEAST_VERIFYING_SECONDS
        left = min(start + budget_seconds - perf_counter(), budget_seconds * VERIFYING)
        self._verify(tasks, max(left, least))
        self._keep()
        self.report.seconds = perf_counter() - start
        return self.report

    def _is_wanted(self, task: Task) -> bool:
        return not self.watch.only or any(k.name in self.watch.only for k in task.kernels)

    def _is_known(self, task: Task) -> bool:
        """Return whether an earlier tuning exhausted the space or converged."""
        before = self.known.get(task.key)
        return before is not None and before.why_stopped in ("converged", "exhausted")

    # Single computations

    def _walk(self, task: Task) -> Walk:
        """Create the search for the best schedule of a computation."""
        name = task.kernels[0].name
        space = space_of(task.computation, task.constants, task.schedule, self.code)
        before = self.known.get(task.key)
        search = self._search(space, self.seed + (before.n_tried if before else 0))

        def measure(points: list[Point]) -> list[Verdict]:
            texts = [space.text(p) for p in points]
            return self._judge(task).verdicts(texts, CANDIDATE_SECONDS)

        def tell(n: int, best: float) -> None:
            faster = f", best {1 / best:.2f} times as fast" if best < 1 else ""
            self.tell(f"{name} ({100 * task.share:.0f} % of a run): {n} tried{faster}")

        return Walk(search, measure, task.seconds, task.room, tell, name, self.watch.tried)

    def _judge(self, task: Task) -> Judge:
        """Return the judge of a task; drop all older judges if they exceed `MOST_BYTES`."""
        if task.key not in self.judges:
            if sum(j.nbytes for j in self.judges.values()) > MOST_BYTES:
                self.judges.clear()
            self.judges[task.key] = Judge(task.computation, task.constants, self.code)
        return self.judges[task.key]

    def _search(self, space: Space, seed: int) -> Search:
        def describe(point: Point) -> list[float]:
            return features(space, point, self.code.target)

        if self.search == "annealing":
            return AnnealingSearch(space, seed, describe, self.experience)
        return SEARCHES[self.search](space, seed, describe)

    def _confirm(self, walks: Sequence[tuple[Task, Walk]], seconds: float) -> None:
        """Time the best candidates longer, and select those that are faster by more than noise."""
        texts = {task.key: self._promising(task, walk) for task, walk in walks}
        each = min(seconds / max(sum(map(len, texts.values())), 1), CONFIRM_SECONDS)
        for task, walk in walks:
            report = _reported(task)
            self.report.kernels.append(report)
            report.outcomes, report.why_stopped = walk.outcomes, walk.why_stopped
            best = Verdict("failed")
            for text in texts[task.key]:
                (verdict,) = self._judge(task).verdicts([text], each)
                if verdict.ratio < best.ratio:
                    best, report.schedule = verdict, text
            if best.ratio < 1 - NOISE:
                report.kept = True
                report.seconds, report.untuned_seconds = best.seconds, best.untuned_seconds
            else:
                report.schedule, report.because = "", "no candidate is faster by more than noise"

    def _promising(self, task: Task, walk: Walk) -> list[str]:
        """Return the schedule in the database, and all candidates faster by more than noise."""
        before = self.known.get(task.key)
        known = [before.schedule] if before and before.schedule else []
        space = walk.search.space
        return known + [space.text(p) for s, p in walk.better[:N_CONFIRMED] if s < 1 - NOISE]

    # The whole model

    def _verify(self, tasks: Sequence[Task], seconds: float) -> None:
        """Time the model with the new schedules; discard schedules that do not speed it up."""
        by_key = {t.key: t for t in tasks}
        if self._kept():
            self.tell("timing the model, kernel by kernel")
            tuned = self._compiled(self._kept())
            before, after = _profiles(self.untuned, tuned, self.inputs, seconds / 2)
            for k in self._kept_reports():
                names = [x.name for x in by_key[k.key].kernels]
                own, theirs = (sum(p[n] for n in names) for p in (after, before))
                if own >= theirs:
                    k.kept, k.because = False, "the schedule is not faster in the model"
        self.tell("timing the model")
        tuned = self._compiled(self._kept())
        turns = _in_turns((self.untuned, tuned), self.inputs, seconds / 2)
        least = min(a for a, _ in turns), min(b for _, b in turns)
        if least[1] > least[0]:
            for k in self._kept_reports():
                k.kept, k.because = False, "the model is not faster"
            least = (least[0], least[0])
        elif self._kept():
            self.report.ratios = tuple(a / b for a, b in turns)
        self.report.untuned_seconds, self.report.tuned_seconds = least

    def _kept_reports(self) -> list[KernelReport]:
        return [k for k in self.report.kernels if k.kept]

    def _kept(self) -> dict[str, str]:
        return {k.key: k.schedule for k in self._kept_reports()}

    def _compiled(self, schedules: Mapping[str, str]) -> Program:
        tuned = Tuned("tuning", dict(schedules)) if schedules else False
        return compile(self.graph, replace(self.options, tuned=tuned, trace=False))

    def _keep(self) -> None:
        """Write the results to the database; entries that are still valid stay unchanged."""
        for k in self.report.kernels:
            before = self.known.get(k.key)
            if before is not None and not k.n_tried and k.kept == bool(before.schedule):
                continue
            entry = Entry(
                k.key,
                k.name,
                k.schedule if k.kept else "",
                k.seconds,
                k.untuned_seconds,
                k.n_tried + (before.n_tried if before else 0),
                k.why_stopped,
                self.search,
                self.seed,
            )
            self.database.put(self.machine, entry)


def _reported(task: Task) -> KernelReport:
    first = task.kernels[0]
    origins = tuple(dict.fromkeys(o for k in task.kernels for o in k.origins))
    return KernelReport(task.key, first.name, origins, len(task.kernels), task.share)


def _as_known(report: KernelReport, entry: Entry) -> KernelReport:
    """Return the report on an entry of the database; the entry is not measured again."""
    report.schedule, report.kept = entry.schedule, bool(entry.schedule)
    report.seconds, report.untuned_seconds = entry.seconds, entry.untuned_seconds
    report.why_stopped, report.because = entry.why_stopped, "known from the database"
    return report


def _profiles(
    a: Program, b: Program, inputs: Mapping[str, Any], seconds: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the minimum seconds of each kernel in two programs, from interleaved runs."""
    least: tuple[dict[str, float], dict[str, float]] = ({}, {})
    end, rounds = perf_counter() + seconds, 0
    while rounds < 3 or perf_counter() < end:
        for program, found in zip((a, b), least, strict=True):
            for name, s in program.profile(inputs, 1).items():
                found[name] = min(s, found.get(name, inf))
        rounds += 1
    return least


def _in_turns(
    programs: tuple[Program, Program], inputs: Mapping[str, Any], seconds: float
) -> list[tuple[float, float]]:
    """Return the seconds of interleaved runs of two programs."""
    turns: list[tuple[float, float]] = []
    end = perf_counter() + seconds
    while len(turns) < 3 or perf_counter() < end:
        found: list[float] = []
        for program in programs:
            program.run(inputs)  # An untimed run loads this program's data into the caches.
            start = perf_counter()
            program.run(inputs)
            found.append(perf_counter() - start)
        turns.append((found[0], found[1]))
    return turns
