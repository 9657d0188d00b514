"""The job that searches for faster schedules of a compiled model's kernels.

The folder of the job stores the schedules found; no other result on the server changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any, get_args

from app.jobs.models import asked_of, read_model
from app.jobs.parts import Parts
from app.jobs.worker import Say
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

SCHEDULES, STOP = "schedules.sqlite", "stop"
"""Files in the folder of a tuning job: the schedules found, and the request to stop."""

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
    """Writes the part `tuning` of the job's result during the search."""

    def __init__(self, request: Mapping[str, Any], folder: Path, say: Say) -> None:
        self.request, self.parts, self.say = request, Parts(folder), say
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
        self.parts.write("tuning", self.tuning)
        self.say("ready", {"part": "tuning"})


def tune_model(request: Mapping[str, Any], folder: Path, task: Mapping[str, Any], say: Say) -> None:
    """Tune the kernels of a compiled model for the requested duration.

    Errors: E-RESULT-ABSENT if the compilation was evicted, the errors of compiling the model,
    E-TUNE-MODEL.
    """
    say("phase", {"phase": "read", "words": "reading the model"})
    made = asked_of(Path(request["compiled"]))
    graph = read_model(made).graph
    given = {k: tuple(v) for k, v in made["shapes"].items()}
    telling = _Telling(request, folder, say)
    number = request["kernel"]
    with measuring(say, made["options"]["threads"]) as slot:

        def tried(trials: Sequence[Trial]) -> None:
            telling.tried(trials)
            slot.pause()

        done = tune(
            graph,
            budget_seconds=request["budget_seconds"],
            search=request["search"],
            seed=request["seed"],
            database=folder / SCHEDULES,
            watch=Watch(
                telling.began,
                tried,
                (folder / STOP).exists,
                () if number is None else (request["kernels"][number],),
            ),
            inputs={**shapes_that_fit(graph, given), **given} or None,
            pipeline=parse_pipeline(made["pipeline"]),
            precision=made["options"]["precision"],
            threads=made["options"]["threads"],
        )
    reports = {k.name: k for k in done.kernels}
    rows = telling.tuning["kernels"]
    telling.tuning["kernels"] = [
        wire.judged(row, reports[row["name"]]) if row["name"] in reports else row for row in rows
    ]
    telling.tuning["model"] = wire.model_row(done.untuned_seconds, done.tuned_seconds, done.ratios)
    telling.tell()
