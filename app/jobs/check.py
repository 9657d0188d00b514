"""The job that checks a compiled model: its passes, values, program and rewrites."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import compiler
from app.jobs.models import compilation_of, model_file, options_of
from app.jobs.results import Results
from app.jobs.task import COMPILED, Task
from app.wire import numerics
from app.wire.asked import Asked, Sent, asked
from app.wire.fields import MOST_SEED, whole
from app.wire.identities import identified
from app.wire.shapes.jobs import Result, Stage
from compiler.bench.peers import first_run, installed, load_peer
from compiler.check.findings import Finding
from compiler.check.stepwise import Check, Wanted, begin_check
from compiler.check.yardstick import Run
from compiler.errors import CompileError
from compiler.passes.pipeline.precision import precision_mode
from compiler.runtime.assumed import shapes_that_fit
from compiler.trace import Event

MORE_S = 3.0
"""Approximate time in seconds for further inputs, and the same time again for isolated rewrites."""

WORDS = {
    "read": "reading the model",
    "passes": "running the passes again",
    "yardstick": "running the reference",
    "f64": "computing the model in f64",
    "stages": "computing each stage",
    "program": "generating and running the program",
    "rewrites": "checking rewrites in isolation",
}
# The phase that begins with a step of the check, by the name of the step.
_PHASES = {
    "passes": "passes",
    "onnx.reference": "yardstick",
    "f64": "f64",
    "imported": "stages",
    "compiling": "program",
    "rewrites": "rewrites",
}


@dataclass(frozen=True, slots=True)
class CheckRequest(Asked):
    """The request of a check; `job` is the compilation of the model."""

    kind = "check"
    sent = Sent(
        "CheckOptions",
        "The seed of the random inputs; default: the seed of the compilation.",
    )

    seed: int = asked(whole(0, MOST_SEED), 0)


class _Job:
    """A running check."""

    def __init__(self, task: Task, results: Results) -> None:
        self.request, self.results, self.say = task.request, results, results.say
        self.compiled = compilation_of(task)
        self.kept = task.parts_of(COMPILED).payload("result", Result)
        self.phase_name = ""

    def phase(self, name: str) -> None:
        """Begin a new phase."""
        if name and name != self.phase_name:
            self.phase_name = name
            self.say("phase", {"phase": name, "words": WORDS[name]})

    def tell(self, step: str, event: Event | None) -> None:
        """Handle progress messages of the check."""
        if event is None:
            self.phase(_PHASES.get(step, ""))

    def ready(self, part: str) -> None:
        """Announce a new part of the result."""
        self.results.write("numerics", self.summary)
        self.say("ready", {"part": part})

    def begin(self) -> Check:
        """Read the model and run the passes. Errors: the errors of the model on random inputs."""
        self.phase("read")
        options = options_of(self.compiled.request)
        model = model_file(self.compiled)
        graph, given = compiler.load(model), self.compiled.shapes
        shapes = {**shapes_that_fit(graph, given), **given}
        wanted = Wanted(
            self.request["seed"],
            precision_mode(options.precision).tolerance,
            by_node=True,
            seconds=MORE_S,
            quick=True,
        )
        try:
            return begin_check(
                model,
                options,
                shapes=shapes,
                peers=_second_opinion(model),
                wanted=wanted,
                tell=self.tell,
            )
        except CompileError as e:
            raise refused(e, self.kept["model"]["name"]) from e

    def run(self) -> None:
        """Run the whole check."""
        check = self.begin()
        self.summary = numerics.summary(self.request, check, _commands(self.kept, self.request))
        events = check.rewrites_done.events
        stages = _stage_numbers(self.kept["stages"], events)
        self.stages(check, stages)
        self.program(check)
        judged = list(check.rewrites())
        applied = len(check.rewrites_done.found)
        self.summary["rewrites"] = numerics.rewrites(applied, judged, events, stages)
        self.ready("rewrites")

    def stages(self, check: Check, stages: Sequence[int]) -> None:
        """Write the row of each stage, and its values if any, as soon as the stage is checked."""
        findings: list[Finding] = []
        values_stage: int | None = None
        events = check.rewrites_done.events
        chain = (check.source, *(graph for e in events for graph in (e.before, e.after)))
        source, *others = identified(chain)
        afters = others[1::2]
        for number, stage, found in _with_specialised(stages, check.stages()):
            now = afters[number - 1] if number else source
            findings.append(found)
            if found.changed:
                values_stage = None
                if found.nodes is not None:
                    values_stage = stage
                    payload = numerics.values(stage, now, found.nodes)
                    self.results.write(numerics.part_of(stage), payload)
            self.summary["rows"].append(numerics.row(stage, found, check, values_stage))
            seen = [row["stage"] for row in self.summary["rows"]]
            numerics.with_stages(self.summary, check, findings, seen)
            if found.changed:
                self.ready(f"stage-{stage}")
        self.ready("stages")

    def program(self, check: Check) -> None:
        """Check the compiled program, if it exists and runs on this machine."""
        if check.broken:
            self.summary["no_program"] = "a pass failed"
        elif check.options.target.name != "host":
            self.summary["no_program"] = f"code for {check.options.target.name} does not run here"
        else:
            found = check.program(check.compile())
            self.summary["program"] = numerics.run(found, check)
        self.ready("program")


def check_compiled(task: Task, results: Results) -> None:
    """Check a compiled model on random inputs, and give back each finding at once.

    Errors: E-RESULT-ABSENT if the compilation was evicted. E-RUN-*, E-OP-* and E-INPUT-* if the
    model refuses random inputs. The errors of reading the model.
    """
    _Job(task, results).run()


def _second_opinion(model: Path | bytes) -> dict[str, Run]:
    """Return another runtime, if installed, for use only if the two references disagree."""
    name = "onnxruntime"
    if not installed(name):
        return {}
    return {name: lambda inputs: first_run(load_peer(name, model), inputs)}


def _stage_numbers(rows: Sequence[Stage], events: Sequence[Event]) -> list[int]:
    """Return the compilation's stage number for the import and for each pass.

    Errors: E-RESULT-ABSENT if the compilation ran other passes.
    """
    first = len(rows) - len(events)
    names = [row["name"] for row in rows[first:]]
    if first not in (1, 2) or names != [e.name for e in events]:
        raise CompileError(
            "E-RESULT-ABSENT",
            "this version runs other passes than the version that compiled the model",
            hint="compile the model again",
        )
    return [0, *range(first, len(rows))]


def _with_specialised(
    stages: Sequence[int], findings: Iterator[Finding]
) -> Iterator[tuple[int, int, Finding]]:
    """Yield findings with index and stage; add one for "specialise", which changes no values."""
    for number, (stage, found) in enumerate(zip(stages, findings, strict=True)):
        yield number, stage, found
        if number == 0 and stages[1:2] == [2]:
            yield 0, 1, replace(found, stage="specialise", seconds=0.0)


def refused(e: CompileError, name: str) -> CompileError:
    """Return the error for a model that refuses random inputs, with a command as its hint.

    The model has been compiled, so only the elements or the sizes of its inputs can be unsuitable.
    """
    if not e.code.startswith(("E-RUN-", "E-INPUT-", "E-OP-")) or e.code == "E-RUN-MEMORY":
        return e
    command = shlex.join(["compilarium", "check", name, "--input", "NAME=ARRAY.npy"])
    return CompileError(
        e.code,
        f"the model refuses random inputs: {e.message}",
        where=e.where,
        notes=list(e.notes),
        hint=f"check the model on meaningful inputs: {command}",
    )


def _commands(kept: Result, request: Mapping[str, Any]) -> dict[str, str]:
    """Return the commands that check and bisect the model, derived from the compile command."""
    seed = ["--seed", str(request["seed"])] if request["seed"] else []
    return {
        "check": _command(kept, "check", {"--target", "--database"}, ["--by-node", *seed]),
        "bisect": _command(kept, "bisect", {"--target", "--threads", "--database"}, seed),
    }


def _command(kept: Result, verb: str, without: set[str], more: Sequence[str]) -> str:
    program, _, *words = shlex.split(kept["reproduce"], comments=True)
    for option in without.intersection(words):
        at = words.index(option)
        del words[at : at + 2]
    return shlex.join([program, verb, *words, *more])
