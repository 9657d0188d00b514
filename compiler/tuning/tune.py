"""Tuning a model: search for each of its computations, then ask the whole model.

A schedule is kept only if it is right, faster than the policy's by more than noise when timed
against it in turns, and still faster inside runs of the whole model: a kernel that is faster alone
may push its neighbours' data out of the caches. So a tuned program is not slower than untuned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from os import PathLike
from time import perf_counter
from typing import Any, Literal

from compiler.driver import compile
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.machine.database import Database, Entry, Tuned, default_path, machine_key
from compiler.runtime.inputs import random_inputs
from compiler.runtime.program import Program
from compiler.runtime.threads import code_options
from compiler.tuning.annealing import AnnealingSearch, Experience
from compiler.tuning.explore import Found, explore
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

NOISE = 0.02
"""A schedule has to be faster by more than this part to be kept."""

LEAST_SECONDS = 1.5
"""A search that gets less than this finds nothing: better none, and more for the others."""

CANDIDATE_SECONDS = 0.02
CONFIRM_SECONDS = 0.25
N_CONFIRMED = 3
"""So many of the best candidates are timed longer, and the best of those is taken."""

VERIFYING = 0.15
"""The part of the budget in which the whole model is timed at the end."""

LEAST_VERIFYING_SECONDS = 0.5

Tell = Callable[[str], None]


def tune(
    graph: Graph | str | PathLike[str] | bytes,
    *,
    budget_seconds: float = 60.0,
    search: SearchName = "annealing",
    seed: int = 0,
    database: str | PathLike[str] | None = None,
    tell: Tell = lambda what: None,
    **options: Any,
) -> TuningReport:
    """Find faster schedules for a model's kernels on this machine and keep them in a database.

    `options` are those of `compile`; programs made with them later use what is in the database (the
    user's own where none is named). A search that is interrupted keeps what it has, and goes on
    another time. Errors: what `compile` raises, E-TUNE-MODEL, E-TUNE-DATABASE, E-OPTION-VALUE.
    """
    if search not in SEARCHES:
        raise CompileError("E-OPTION-VALUE", f"{search!r:.40} is none of {', '.join(SEARCHES)}")
    if not 0 < budget_seconds < inf:
        raise CompileError("E-OPTION-VALUE", f"needed a budget of seconds, got {budget_seconds}")
    return _Tuning(graph, options, search, seed, _database(database), tell).run(budget_seconds)


def _database(named: str | PathLike[str] | None) -> Database:
    path = default_path() if named is None else named
    if path is None:
        raise CompileError(
            "E-TUNE-DATABASE",
            "COMPILARIUM_CACHE is empty, so there is no place for what tuning finds",
            hint="name a file with --database",
        )
    return Database(path)


class _Tuning:
    """One tuning run, with all that its steps share."""

    def __init__(
        self,
        graph: Graph | str | PathLike[str] | bytes,
        options: Mapping[str, Any],
        search: SearchName,
        seed: int,
        database: Database,
        tell: Tell,
    ) -> None:
        self.graph, self.options = graph, dict(options)
        self.search: SearchName = search
        self.seed = seed
        self.database, self.tell = database, tell
        self.untuned = self._compiled({})
        if self.untuned.is_open or self.untuned.serves_all_sizes:
            raise CompileError(
                "E-TUNE-MODEL", "schedules are tuned for known sizes", hint="give shapes: --shape"
            )
        if self.untuned.target.name != "host":
            raise CompileError("E-TUNE-MODEL", "only code for this machine can be timed here")
        self.inputs = random_inputs(self.untuned.source, seed)
        self.code, _ = code_options(self.untuned.target, self.options.get("threads", 1))
        self.machine = machine_key(self.code)
        self.known = database.entries(self.machine)
        self.experience = Experience()
        self.report = TuningReport([], search, seed, str(database.path))

    def run(self, budget_seconds: float) -> TuningReport:
        """All of it."""
        start = perf_counter()
        profile = self.untuned.profile(self.inputs, 10)
        end = start + budget_seconds * (1 - VERIFYING)
        tasks = worthwhile(tasks_of(self.untuned, profile), end - perf_counter())
        for number, task in enumerate(tasks):
            left = end - perf_counter()
            if left <= 0 or self.report.interrupted:
                break
            rest = sum(t.room for t in tasks[number:])
            self.report.kernels.append(self._tuned(task, left * task.room / rest))
        least = 0.0 if self.report.interrupted else LEAST_VERIFYING_SECONDS
        self._verify(tasks, max(start + budget_seconds - perf_counter(), least))
        self._keep()
        self.report.seconds = perf_counter() - start
        return self.report

    # One computation

    def _tuned(self, task: Task, seconds: float) -> KernelReport:
        """The best schedule of a computation that a search finds in some seconds."""
        report = _reported(task)
        before = self.known.get(task.key)
        if before is not None and before.why_stopped in ("converged", "exhausted"):
            return _as_known(report, before)
        start = perf_counter()
        judge = Judge(task.computation, task.constants, self.code)
        space = space_of(task.computation, task.schedule)
        n_before = before.n_tried if before else 0
        search = self._search(task, space, self.seed + n_before)

        def tell(n: int, best: float) -> None:
            faster = f", best {1 / best:.2f} times as fast" if best < 1 else ""
            self.tell(f"{report.name} ({100 * task.share:.0f} % of a run): {n} tried{faster}")

        found = explore(
            search,
            lambda points: judge.verdicts([space.text(p) for p in points], CANDIDATE_SECONDS),
            seconds - (perf_counter() - start) - CONFIRM_SECONDS,
            perf_counter,
            tell,
        )
        self.report.interrupted |= found.why_stopped == "interrupted"
        report.outcomes, report.why_stopped = found.outcomes, found.why_stopped
        texts = [before.schedule] if before and before.schedule else []
        self._confirm(report, judge, [*texts, *_best_texts(space, found)])
        return report

    def _search(self, task: Task, space: Space, seed: int) -> Search:
        def describe(point: Point) -> list[float]:
            return features(space, point, task.computation, self.code.target)

        if self.search == "annealing":
            return AnnealingSearch(space, seed, describe, self.experience)
        return SEARCHES[self.search](space, seed, describe)

    def _confirm(self, report: KernelReport, judge: Judge, texts: Sequence[str]) -> None:
        """Time the best candidates longer, and take the best one if it is faster than noise."""
        best = Verdict("failed")
        for text in texts:
            (verdict,) = judge.verdicts([text], CONFIRM_SECONDS)
            if verdict.ratio < best.ratio:
                best, report.schedule = verdict, text
        if best.ratio < 1 - NOISE:
            report.kept = True
            report.seconds, report.untuned_seconds = best.seconds, best.untuned_seconds
        else:
            report.schedule, report.because = "", "none is faster by more than noise"

    # The whole model

    def _verify(self, tasks: Sequence[Task], seconds: float) -> None:
        """Time the model with what was found, and let go of schedules that do not pay there."""
        by_key = {t.key: t for t in tasks}
        if self._kept():
            self.tell("timing the whole model, kernel by kernel")
            tuned = self._compiled(self._kept())
            before, after = _profiles(self.untuned, tuned, self.inputs, seconds / 2)
            for k in self._kept_reports():
                names = [x.name for x in by_key[k.key].kernels]
                own, theirs = (sum(p[n] for n in names) for p in (after, before))
                if own >= theirs:
                    k.kept, k.because = False, "not faster among its neighbours"
        self.tell("timing the whole model")
        tuned = self._compiled(self._kept())
        least = _in_turns((self.untuned, tuned), self.inputs, seconds / 2)
        if least[1] > least[0]:
            for k in self._kept_reports():
                k.kept, k.because = False, "the whole model was not faster"
            least = (least[0], least[0])
        self.report.untuned_seconds, self.report.tuned_seconds = least

    def _kept_reports(self) -> list[KernelReport]:
        return [k for k in self.report.kernels if k.kept]

    def _kept(self) -> dict[str, str]:
        return {k.key: k.schedule for k in self._kept_reports()}

    def _compiled(self, schedules: Mapping[str, str]) -> Program:
        tuned = Tuned("tuning", dict(schedules)) if schedules else False
        asked: dict[str, Any] = {**self.options, "tuned": tuned, "trace": False}
        return compile(self.graph, **asked)

    def _keep(self) -> None:
        """Write what was found; what was known already and still holds stays as it is."""
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


def worthwhile(tasks: Sequence[Task], seconds: float) -> list[Task]:
    """The tasks with the most room, as many as get enough of the seconds when these are shared."""
    kept = sorted(tasks, key=lambda t: -t.room)
    while len(kept) > 1 and seconds * kept[-1].room < LEAST_SECONDS * sum(t.room for t in kept):
        kept.pop()
    return kept


def _reported(task: Task) -> KernelReport:
    first = task.kernels[0]
    origins = tuple(dict.fromkeys(o for k in task.kernels for o in k.origins))
    return KernelReport(task.key, first.name, origins, len(task.kernels), task.share)


def _as_known(report: KernelReport, entry: Entry) -> KernelReport:
    """A report of what the database knows, without measuring anything again."""
    report.schedule, report.kept = entry.schedule, bool(entry.schedule)
    report.seconds, report.untuned_seconds = entry.seconds, entry.untuned_seconds
    report.why_stopped, report.because = entry.why_stopped, "known from the database"
    return report


def _best_texts(space: Space, found: Found) -> list[str]:
    """The best candidates that seem to be faster by more than noise."""
    return [space.text(p) for score, p in found.better[:N_CONFIRMED] if score < 1 - NOISE]


def _profiles(
    a: Program, b: Program, inputs: Mapping[str, Any], seconds: float
) -> tuple[dict[str, float], dict[str, float]]:
    """The least seconds of each kernel of two programs, run in turns."""
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
) -> tuple[float, float]:
    """The least seconds of a whole run of two programs, run in turns."""
    least = [inf, inf]
    end, rounds = perf_counter() + seconds, 0
    while rounds < 3 or perf_counter() < end:
        for i, program in enumerate(programs):
            program.run(inputs)  # finds its data where it left it, and not where the other did
            start = perf_counter()
            program.run(inputs)
            least[i] = min(least[i], perf_counter() - start)
        rounds += 1
    return least[0], least[1]
