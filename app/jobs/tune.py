"""The job that looks for faster schedules of a compiled model's kernels, told as it goes.

What it finds is kept in a file of its own folder: no other result on the server changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any, get_args

from app.jobs.models import asked_of, read_model, shapes_that_fit
from app.jobs.parts import Parts
from app.jobs.worker import Say
from app.wire import tuning as wire
from app.wire.asked import Asked, Sent, asked
from app.wire.fields import N_KERNELS, choice, number, or_null, whole
from app.wire.shapes.tuning import SearchName
from compiler.errors import CompileError
from compiler.passes import parse_pipeline
from compiler.tuning.explore import Trial
from compiler.tuning.task import Task
from compiler.tuning.tune import Watch, tune

SCHEDULES, STOP = "schedules.sqlite", "stop"
"""Files of a tuning job's folder: what was found, and the sign to end with what there is."""

BUDGET_S = 20.0
"""How long a search is unless it is told."""
_TELL_EVERY_S = 0.5


@dataclass(frozen=True, slots=True)
class TuneRequest(Asked):
    """The request of a tuning job; `job` is the one that compiled the model."""

    kind = "tune"
    sent = Sent(
        "TuneOptions",
        "For how long, how, and which kernel; without one all are, the longest first.",
    )

    budget_seconds: float = asked(number(1, inf), BUDGET_S)
    search: SearchName = asked(choice(get_args(SearchName)), "annealing")  # noqa: RUF009 - a field
    kernel: int | None = asked(or_null(whole(0, N_KERNELS - 1)), None)
    seed: int = asked(whole(0, 2**31 - 1), 0)


def schedules_name(tuning_id: str) -> str:
    """What the file with the finds of a tuning job is called outside of its folder."""
    return f"schedules-{tuning_id}.sqlite"


class _Telling:
    """Writes the part `tuning` while candidates are tried."""

    def __init__(self, request: Mapping[str, Any], folder: Path, say: Say) -> None:
        self.request, self.parts, self.say = request, Parts(folder), say
        self.tuning = wire.empty(request)
        self.places: dict[str, int] = {}
        self.start_s = perf_counter()
        self.told_s = 0.0

    def began(self, tasks: Sequence[Task]) -> None:
        """These computations are searched."""
        self.say("phase", {"phase": "tune", "words": "trying schedules"})
        self.places = {t.kernels[0].name: i for i, t in enumerate(tasks)}
        numbers = {name: i for i, name in enumerate(self.request["kernels"])}
        self.tuning["kernels"] = [wire.kernel_row(t, numbers) for t in tasks]
        if not tasks:
            raise CompileError("E-TUNE-MODEL", "no schedule here can be tuned")
        self.tell()

    def tried(self, trials: Sequence[Trial]) -> None:
        """One more batch."""
        for trial in trials:
            place = self.places[trial.kernel]
            self.tuning["trials"].append(wire.trial_row(trial, place))
            if trial.verdict.ratio <= trial.best < 1:
                self.tuning["kernels"][place]["schedule"] = trial.schedule
        if perf_counter() - self.told_s > _TELL_EVERY_S:
            self.tell()

    def tell(self) -> None:
        """What there is now can be read."""
        self.told_s = perf_counter()
        self.tuning["searching_seconds"] = self.told_s - self.start_s
        self.parts.write("tuning", self.tuning)
        self.say("ready", {"part": "tuning"})


def tune_model(request: Mapping[str, Any], folder: Path, task: Mapping[str, Any], say: Say) -> None:
    """Tune the kernels of a compiled model for the seconds that were asked for.

    Errors: E-RESULT-ABSENT when the compilation is gone, what compiling the model raises,
    E-TUNE-MODEL.
    """
    say("phase", {"phase": "read", "words": "reading the model"})
    made = asked_of(Path(request["compiled"]))
    graph = read_model(made).graph
    given = {k: tuple(v) for k, v in made["shapes"].items()}
    telling = _Telling(request, folder, say)
    number = request["kernel"]
    done = tune(
        graph,
        budget_seconds=request["budget_seconds"],
        search=request["search"],
        seed=request["seed"],
        database=folder / SCHEDULES,
        watch=Watch(
            telling.began,
            telling.tried,
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
