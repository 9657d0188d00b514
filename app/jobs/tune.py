"""The job that searches for faster schedules of a compiled model's kernels.

The job gives back the schedules found as a file; no other result on the server changes.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any, get_args

from app.jobs.models import compilation_of, read_model
from app.jobs.results import Results
from app.jobs.task import Task as JobTask
from app.jobs.worker_slot import measuring
from app.wire import tuning as wire
from app.wire.asked import Asked, Sent, asked
from app.wire.fields import N_KERNELS, choice, number, or_null, whole
from app.wire.shapes.tuning import SearchName
from compiler.errors import CompileError
from compiler.passes import parse_pipeline
from compiler.runtime.assumed import shapes_that_fit
from compiler.tuning.explore import Trial
from compiler.tuning.task import Task
from compiler.tuning.tune import Watch, default_search, tune

SCHEDULES = "schedules.sqlite"
"""Name of the file with the schedules found."""

BUDGET_S = 20.0
"""Default duration of a search."""
_TELL_EVERY_S = 0.5


@dataclass(frozen=True, slots=True)
class TuneRequest(Asked):
    """The request of a tuning job; `job` is the compilation of the model."""

    kind = "tune"
    sent = Sent(
        "TuneOptions",
        "Duration, method and kernel; by default all kernels, the slowest first.",
    )

    budget_seconds: float = asked(number(1, inf), BUDGET_S)
    search: SearchName = asked(choice(get_args(SearchName)), default_search())  # noqa: RUF009 - a field
    kernel: int | None = asked(or_null(whole(0, N_KERNELS - 1)), None)
    seed: int = asked(whole(0, 2**31 - 1), 0)


def schedules_name(tuning_id: str) -> str:
    """Return the download name of a tuning job's schedules."""
    return f"schedules-{tuning_id}.sqlite"


class _Telling:
    """Gives back the part `tuning` of the job's result during the search."""

    def __init__(self, request: Mapping[str, Any], results: Results) -> None:
        self.request, self.results, self.say = request, results, results.say
        self.tuning = wire.empty(request)
        self.places: dict[str, int] = {}
        self.start_s = perf_counter()
        self.told_s = 0.0

    def began(self, tasks: Sequence[Task]) -> None:
        """Begin the search for faster schedules of these computations."""
        self.say("phase", {"phase": "tune", "words": "trying schedules"})
        self.places = {t.kernels[0].name: i for i, t in enumerate(tasks)}
        numbers = {name: i for i, name in enumerate(self.request["kernels"])}
        self.tuning["kernels"] = [wire.kernel_row(t, numbers) for t in tasks]
        if not tasks:
            raise CompileError(
                "E-TUNE-MODEL", "no kernel of this model has a schedule that can be tuned"
            )
        self.tell()

    def tried(self, trials: Sequence[Trial]) -> None:
        """Record the outcomes of another batch of candidate schedules."""
        for trial in trials:
            place = self.places[trial.kernel]
            self.tuning["trials"].append(wire.trial_row(trial, place))
            if trial.verdict.ratio <= trial.best < 1:
                self.tuning["kernels"][place]["schedule"] = trial.schedule
        if perf_counter() - self.told_s > _TELL_EVERY_S:
            self.tell()

    def tell(self) -> None:
        """Write and announce the current results."""
        self.told_s = perf_counter()
        self.tuning["searching_seconds"] = self.told_s - self.start_s
        self.results.write("tuning", self.tuning)
        self.say("ready", {"part": "tuning"})


def tune_model(task: JobTask, results: Results) -> None:
    """Tune the kernels of a compiled model for the requested duration.

    Errors: E-RESULT-ABSENT if the compilation was evicted, the errors of compiling the model,
    E-TUNE-MODEL.
    """
    request, say = task.request, results.say
    say("phase", {"phase": "read", "words": "reading the model"})
    made = compilation_of(task)
    graph, given, options = read_model(made).graph, made.shapes, made.options
    telling = _Telling(request, results)
    number = request["kernel"]
    with _temporary_file() as database, measuring(say, options["threads"]) as slot:

        def tried(trials: Sequence[Trial]) -> None:
            telling.tried(trials)
            slot.pause()

        done = tune(
            graph,
            budget_seconds=request["budget_seconds"],
            search=request["search"],
            seed=request["seed"],
            database=database,
            watch=Watch(
                telling.began,
                tried,
                task.is_stopped.is_set,
                () if number is None else (request["kernels"][number],),
            ),
            inputs={**shapes_that_fit(graph, given), **given} or None,
            pipeline=parse_pipeline(made.request["pipeline"]),
            precision=options["precision"],
            threads=options["threads"],
        )
        found = database.read_bytes() if database.is_file() else b""
    if found:
        results.write_file(SCHEDULES, found)
    reports = {k.name: k for k in done.kernels}
    rows = telling.tuning["kernels"]
    telling.tuning["kernels"] = [
        wire.judged(row, reports[row["name"]]) if row["name"] in reports else row for row in rows
    ]
    telling.tuning["model"] = wire.model_row(done.untuned_seconds, done.tuned_seconds, done.ratios)
    telling.tell()


@contextmanager
def _temporary_file() -> Generator[Path]:
    """Yield a path in a folder that does not exist yet, and that is removed after the block.

    The search creates this folder when it ends, so a job that is killed earlier leaves no folder.
    """
    folder = Path(tempfile.gettempdir()) / f"compilarium-{secrets.token_hex(10)}"
    try:
        yield folder / SCHEDULES
    finally:
        shutil.rmtree(folder, ignore_errors=True)
