"""The job that runs a compiled model on given inputs, and times the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.arrays import as_input, npy_bytes, read_array
from app.jobs.compile import compiled
from app.jobs.models import compilation_of, read_model
from app.jobs.results import Results
from app.jobs.task import COMPILED, Task, array_input
from app.jobs.telling import sparsely
from app.jobs.worker_slot import measuring
from app.rounds import timed_rounds
from app.wire import profiles, runs
from app.wire.asked import Asked, Sent, asked
from app.wire.fields import number
from app.wire.shapes.jobs import Result
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.types import TensorType
from compiler.runtime.assumed import Shapes, shapes_that_fit
from compiler.runtime.inputs import inputs_of
from compiler.runtime.program import Program

MOST_ROUNDS = 20_000
MOST_SECONDS = 10.0
FILES = "output-*.npy"
"""Names of the files of outputs, which have the number of the output."""
OUTPUTS_BYTES = 128_000_000
"""Maximum size of all stored outputs of a run; further outputs are only summarised."""


@dataclass(frozen=True, slots=True)
class RunRequest(Asked):
    """The request of a run on given inputs; `job` is the compilation of the model."""

    kind = "run"
    sent = Sent(
        "RunOptions",
        "For each given input, the id of its uploaded .npy file; other inputs are random. Duration "
        "of the timing in seconds, 0 for no timing.",
    )

    inputs: dict[str, str] = asked(runs.FILES)  # noqa: RUF009 - a declaration
    seconds: float = asked(number(0.0, MOST_SECONDS), 0.5)


def output_name(output: int) -> str:
    """Return the name of the file of a stored output."""
    return FILES.replace("*", str(output))


def run_compiled(task: Task, results: Results) -> None:
    """Run a compiled model, give back the outputs, and time the run.

    Errors: E-INPUT-* for the given files, E-RESULT-ABSENT if the compilation was evicted,
    E-TARGET-RUN for code for another machine, and the errors of the model.
    """
    request, say, wanted = task.request, results.say, compilation_of(task)
    options = wanted.options
    say("phase", {"phase": "code", "words": "generating the code again"})
    graph = read_model(wanted).graph
    files = {name: task.inputs[array_input(i)] for i, name in enumerate(request["inputs"])}
    given = given_inputs(graph, files)
    shapes = wanted.shapes
    inputs = whole_inputs(graph, shapes, given, options["seed"])
    shapes |= open_shapes(graph, inputs)
    shapes = {**shapes_that_fit(graph, shapes), **shapes}
    program = compiled(graph, wanted, shapes, lambda name, event: None)
    say("phase", {"phase": "run", "words": "running the model"})
    found = program.run(inputs)
    payload = runs.run(request["job"], options["seed"], inputs, request["names"])
    capacity = min(OUTPUTS_BYTES, task.limits.output_bytes // 2)
    for i, (name, value) in enumerate(found.items()):
        data = _file_content(value, capacity)
        capacity -= len(data)
        if data:
            results.write_file(output_name(i), data)
        payload["outputs"].append(runs.output(i, name, value, is_stored=bool(data)))
    results.write("run", payload)
    say("ready", {"part": "run"})
    if request["seconds"]:
        say("phase", {"phase": "measure", "words": "timing the run"})
        threads, seconds = options["threads"], request["seconds"]
        with measuring(say, threads) as slot:
            rounds = timed_rounds(program, inputs, seconds, MOST_ROUNDS, sparsely(say), slot.pause)
        profile = profiles.profile(program, rounds, options, slot.disturbance())
        payload["times"], payload["disturbance"] = profile["run"], profile["disturbance"]
        if _has_same_kernels(program, task.parts_of(COMPILED).payload("result", Result)):
            payload["has_profile"] = True
            results.write("profile", profile)
        results.write("run", payload)


def given_inputs(graph: Graph, files: Mapping[str, Path]) -> dict[str, Any]:
    """Read the files of inputs. Errors: E-INPUT-NAME, E-INPUT-FILE, E-INPUT-DTYPE."""
    types = {v.name: v.type for v in graph.inputs}
    for name in files:
        if name not in types:
            listed = ", ".join(types) or "none"
            message = f"no input is named {name!r:.80}; inputs: {listed:.400}"
            raise CompileError("E-INPUT-NAME", message)
    return {
        name: as_input(read_array(path, name), name, types[name]) for name, path in files.items()
    }


def whole_inputs(
    graph: Graph, shapes: Shapes, given: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Return the given inputs, and random values for all other inputs.

    The other inputs get their open sizes from the given arrays, else from the compilation.
    Errors: E-INPUT-DTYPE for an input that needs a file, E-INPUT-SHAPE.
    """
    if all(v.name in given for v in graph.inputs):
        return dict(given)
    rest = {name: dims for name, dims in shapes.items() if name not in given}
    return inputs_of(graph, seed, rest, given)


def open_shapes(graph: Graph, inputs: Mapping[str, Any]) -> Shapes:
    """Return the shapes of inputs whose sizes the model leaves open."""
    types = {v.name: v.type for v in graph.inputs}
    return {
        name: tuple(value.shape)
        for name, value in inputs.items()
        if isinstance(value, np.ndarray)
        and isinstance(t := types[name], TensorType)
        and not t.is_static
    }


def _file_content(value: Any, capacity: int) -> bytes:
    """Return the file of an output; b"" if it is no array, or larger than the capacity in bytes."""
    if not isinstance(value, np.ndarray):
        return b""
    longest = max((len(str(v)) for v in value.flat), default=1) if value.dtype.kind == "O" else 1
    if value.size * max(value.dtype.itemsize, 4 * longest) > capacity:
        return b""
    return npy_bytes(value)


def _has_same_kernels(program: Program, result: Result) -> bool:
    return [k.name for k in program.kernels] == [k["name"] for k in result["kernels"]]
