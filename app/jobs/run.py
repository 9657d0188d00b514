"""The job that runs a compiled model on given inputs, and times the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.arrays import as_input, npy_bytes, read_array
from app.jobs.compile import compiled
from app.jobs.models import asked_of, read_model
from app.jobs.parts import Parts
from app.jobs.telling import sparsely
from app.jobs.worker import Say
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


def output_file(folder: Path, output: int) -> Path:
    """Return the path of a stored output."""
    return folder / f"output-{output}.npy"


def run_compiled(
    request: Mapping[str, Any], folder: Path, task: Mapping[str, Any], say: Say
) -> None:
    """Run a compiled model, store the outputs, and time the run.

    Errors: E-INPUT-* for the given files, E-RESULT-ABSENT if the compilation was evicted,
    E-TARGET-RUN for code for another machine, and the errors of the model.
    """
    earlier, parts = Path(request["compiled"]), Parts(folder)
    wanted = asked_of(earlier)
    options = wanted["options"]
    say("phase", {"phase": "code", "words": "generating the code again"})
    graph = read_model(wanted).graph
    given = given_inputs(graph, request["files"])
    shapes = {name: tuple(dims) for name, dims in wanted["shapes"].items()}
    inputs = whole_inputs(graph, shapes, given, options["seed"])
    shapes |= open_shapes(graph, inputs)
    shapes = {**shapes_that_fit(graph, shapes), **shapes}
    program = compiled(graph, wanted, shapes, lambda name, event: None)
    say("phase", {"phase": "run", "words": "running the model"})
    found = program.run(inputs)
    payload = runs.run(request["job"], options["seed"], inputs, request["names"])
    for i, (name, value) in enumerate(found.items()):
        is_stored = _stored(folder, i, value, task["output_bytes"])
        payload["outputs"].append(runs.output(i, name, value, is_stored=is_stored))
    parts.write("run", payload)
    say("ready", {"part": "run"})
    if request["seconds"]:
        say("phase", {"phase": "measure", "words": "timing the run"})
        threads, seconds = options["threads"], request["seconds"]
        with measuring(say, threads) as slot:
            rounds = timed_rounds(program, inputs, seconds, MOST_ROUNDS, sparsely(say), slot.pause)
        profile = profiles.profile(program, rounds, options, slot.disturbance())
        payload["times"], payload["disturbance"] = profile["run"], profile["disturbance"]
        if _has_same_kernels(program, Parts(earlier).payload("result", Result)):
            payload["has_profile"] = True
            parts.write("profile", profile)
        parts.write("run", payload)


def given_inputs(graph: Graph, files: Mapping[str, str]) -> dict[str, Any]:
    """Read the files of inputs. Errors: E-INPUT-NAME, E-INPUT-FILE, E-INPUT-DTYPE."""
    types = {v.name: v.type for v in graph.inputs}
    for name in files:
        if name not in types:
            listed = ", ".join(types) or "none"
            message = f"no input is named {name!r:.80}; inputs: {listed:.400}"
            raise CompileError("E-INPUT-NAME", message)
    return {
        name: as_input(read_array(Path(path), name), name, types[name])
        for name, path in files.items()
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


def _stored(folder: Path, output: int, value: Any, limit_bytes: int) -> bool:
    """Store an output as a file; return whether it was stored."""
    if not isinstance(value, np.ndarray):
        return False
    stored = sum(path.stat().st_size for path in folder.glob("output-*.npy"))
    room = min(OUTPUTS_BYTES, limit_bytes // 2) - stored
    longest = max((len(str(v)) for v in value.flat), default=1) if value.dtype.kind == "O" else 1
    if value.size * max(value.dtype.itemsize, 4 * longest) > room:
        return False
    output_file(folder, output).write_bytes(npy_bytes(value))
    return True


def _has_same_kernels(program: Program, result: Result) -> bool:
    return [k.name for k in program.kernels] == [k["name"] for k in result["kernels"]]
