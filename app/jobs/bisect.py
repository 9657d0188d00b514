"""The job that finds a minimal set of rewrites that changes a compiled model's numerical
results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import compiler
from app.jobs.check import refused
from app.jobs.models import Compilation, compilation_of, model_file, options_of
from app.jobs.parts import Parts
from app.jobs.results import Results
from app.jobs.task import COMPILED, Task
from app.wire import bisect as wire
from app.wire.asked import Asked, Sent, asked
from app.wire.fields import MOST_SEED, number, or_null, whole
from app.wire.shapes.bisect import ReducedModel
from app.wire.shapes.jobs import Result
from app.wire.shapes.stages import Steps
from compiler.bisect.probe import WAYS, Probe, Settings
from compiler.bisect.repro import Repro, as_onnx
from compiler.bisect.run import reduced
from compiler.bisect.search import Answer, search
from compiler.errors import CompileError
from compiler.frontend.written import LANGUAGES, PAGE_LIMITS
from compiler.ir.infer import specialize
from compiler.passes.pipeline.precision import precision_mode
from compiler.runtime.assumed import shapes_that_fit
from compiler.runtime.inputs import random_inputs

FILE = "model.onnx"
"""Name of the reduced model's file in the job's folder."""
REDUCE_S = 20.0
_SPARE_S = 5.0
"""The part of a job's time limit reserved for writing the reduced model."""


@dataclass(frozen=True, slots=True)
class BisectRequest(Asked):
    """The request of a bisection job; `job` is the compilation of the model."""

    kind = "bisect"
    sent = Sent(
        "BisectOptions",
        "The fault to search for: a change of a result by more than the fraction `moved` of its "
        "scale; if `moved` is null, errors beyond rounding. `seed` is the seed of the random "
        "inputs.",
    )

    seed: int = asked(whole(0, MOST_SEED), 0)
    moved: float | None = asked(or_null(number(0, 1)), None)


def bisect_compiled(task: Task, results: Results) -> None:
    """Search for the rewrites, give them back, then reduce the model.

    Errors: E-RESULT-ABSENT if the compilation was evicted; the errors of reading the model;
    E-RUN-*, E-OP-* and E-INPUT-* if the model refuses random inputs.
    """
    request, say, seconds = task.request, results.say, task.limits.seconds
    end = monotonic() + seconds - _SPARE_S
    parts = task.parts_of(COMPILED)
    kept = parts.payload("result", Result)
    say("phase", {"phase": "read", "words": "reading the model"})
    probe = _probe(request, compilation_of(task), kept, seconds)

    def tell(text: str) -> None:
        words = f"{text}, {probe.n_runs} runs so far"
        say("phase", {"phase": "search", "words": words})

    settings = probe.settings
    answer = search(probe, tell)
    found = wire.found(request, answer, _places(kept, parts, answer), kept)
    results.write("bisect", found)
    say("ready", {"part": "bisect"})
    if not answer.broken or not answer.stable:
        return
    say("phase", {"phase": "reduce", "words": "reducing the model"})
    small = reduced(probe, settings, answer, max(0.0, min(REDUCE_S, end - monotonic())))
    results.write("bisect", {**found, "reduced": _small(small, results)})
    say("ready", {"part": "reduced"})


def _probe(request: Mapping[str, Any], made: Compilation, kept: Result, seconds: float) -> Probe:
    """Create the probe of the bisection, with the first inputs of the numerical check."""
    options = options_of(made.request)
    graph, given = compiler.load(model_file(made)), made.shapes
    moved = request["moved"]
    settings = Settings(
        options.passes,
        seed=request["seed"],
        tolerance=precision_mode(options.precision).tolerance,
        moved=moved,
        limit_seconds=seconds,
        ways=WAYS if moved is None else WAYS[:1],
        without=tuple(made.request.get("without", ())),
    )
    try:
        shapes = {**shapes_that_fit(graph, given), **given}
        inputs = random_inputs(graph, request["seed"], shapes)
        sizes = {k: v.shape for k, v in inputs.items() if hasattr(v, "shape")}
        return Probe.of(specialize(graph, sizes) if sizes else graph, settings)
    except CompileError as e:
        raise refused(e, kept["model"]["name"]) from e


def _places(kept: Result, parts: Parts, answer: Answer) -> wire.Places:
    """Map each rewrite of the compilation to its stage and step."""
    wanted = {(d.pass_name, d.rule, d.at): d for d in answer.decisions}
    found: wire.Places = {}
    for row in kept["stages"]:
        if row["name"] not in {pass_name for pass_name, _, _ in wanted}:
            continue
        steps = parts.payload(f"stage-{row['stage']}-steps", Steps)["steps"]
        for place, step in enumerate(steps):
            decision = wanted.get((row["name"], step["rule"], step["at"]))
            if decision is not None and step["outcome"] == "applied":
                found.setdefault(decision, (row["stage"], place))
    return found


def _small(repro: Repro, results: Results) -> ReducedModel:
    """Return the reduced model, with its text; give back its ONNX file if the export succeeds."""
    graph = repro.case.graph
    text = str(replace(graph, name="reduced"))
    draft = LANGUAGES["ir"](text, "", PAGE_LIMITS)
    data = as_onnx(graph)
    if data is not None:
        results.write_file(FILE, data)
    return wire.reduced(repro, text, opens=not draft.problems, n_bytes=len(data or b""))
