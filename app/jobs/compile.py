"""The job that reads a model, runs the passes, generates code, then measures and checks."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter
from typing import Any

import compiler
from app.jobs.measures import accuracy, check, measure
from app.jobs.models import (
    Compilation,
    Model,
    empty_row,
    options_of,
    own_compilation,
    read_model,
    shape_rows,
    try_random_inputs,
)
from app.jobs.place import tasks_part
from app.jobs.recorder import Recorder, empty_summary
from app.jobs.results import Results
from app.jobs.targets import computations_part
from app.jobs.task import LABELLED, Task
from app.jobs.tune import schedules_name
from app.wire import kernels, programs
from app.wire.links import kernel_links
from app.wire.neighbours import neighbours
from app.wire.shapes.facts import Host
from compiler.codegen.debug import Listings
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.machine.keep import machine_of
from compiler.passes import parse_pipeline
from compiler.runtime.assumed import shapes_that_fit
from compiler.runtime.program import Program
from compiler.targets.target import host
from compiler.trace import Event

Shapes = dict[str, tuple[int, ...]]
Progress = Callable[[str, Event | None], None]

WORDS = {
    "read": "reading the model",
    "passes": "running the passes",
    "code": "generating code",
    "check": "comparing with the reference",
    "measure": "timing the kernels",
    "listing": "disassembling",
    "accuracy": "measuring the accuracy",
    "links": "linking the levels",
}
# The phase of each step of the driver; all other steps belong to the phase "code".
_PHASES = {"import": "read", "specialise": "passes", "passes": "passes"}


class _Job:
    """A running compilation with its measurements and checks."""

    def __init__(self, task: Task, results: Results) -> None:
        self.task, self.results, self.say = task, results, results.say
        self.made = own_compilation(task)
        self.request, self.options = task.request, self.made.options
        self.summary = empty_summary(self.request)
        self.summary["versions"] = versions()
        self.summary["host"] = host_facts()
        machine = machine_of(options_of(self.request).target)
        self.recorder = Recorder(results, self.summary, machine)
        self.listings: Listings | None = None
        self.phase_name = ""
        self.phase_start = perf_counter()
        self.shapes: Shapes = {}

    def phase(self, name: str) -> None:
        """End the current phase and begin a new one."""
        if name == self.phase_name:
            return
        now = perf_counter()
        if self.phase_name:
            seconds = now - self.phase_start
            self.summary["timings"].append({"phase": self.phase_name, "seconds": seconds})
        self.phase_name, self.phase_start = name, now
        if name:
            self.say("phase", {"phase": name, "words": WORDS[name]})

    def progress(self, name: str, event: Event | None) -> None:
        """Handle progress messages of the driver."""
        if event is not None:
            self.recorder.passed(event)
        elif self.recorder.is_open:
            self.phase(_PHASES.get(name, "code"))

    def read(self) -> tuple[Model, Shapes]:
        """Read the model, store its facts, and return it with the shapes for the compilation."""
        self.phase("read")
        start = perf_counter()
        model = read_model(self.made, self.task.inputs.get(LABELLED))
        seconds = perf_counter() - start
        graph, given = model.graph, self.made.shapes
        self.summary["model"] = model.facts
        self.summary["inputs"] = programs.typed(graph.inputs)
        self.summary["outputs"] = programs.typed(graph.outputs)
        self.recorder.imported(graph, seconds)
        assumed = shapes_that_fit(graph, given)
        self.summary["shapes"] = shape_rows(graph, given, assumed)
        return model, {**assumed, **given}

    def compile(self) -> None:
        """Run the whole compilation."""
        pipeline = parse_pipeline(self.request["pipeline"])
        self.summary["pipeline"] = str(pipeline)
        model, shapes = self.read()
        self.shapes = shapes
        self.summary["reproduce"] = command(
            model.file_name,
            str(pipeline),
            shapes,
            self.options,
            self.request.get("tuned", ""),
            self.request.get("without", ()),
        )
        program = compiled(model.graph, self.made, shapes, self.progress)
        self.recorder.close()
        self.summary["empty"] = empty_row(model.graph, program.source)
        if program.is_open and self.options["target"] == "host":
            first_run(program, model.graph, shapes, self.options["seed"])
        self.keep(program)
        self.examine(program, model)
        self.summary["running"] = kernels.running_row(program)  # accuracy may compile more code
        self.phase("")
        self.recorder.write_summary()

    def keep(self, program: Program) -> None:
        """Store kernels, memory, provenance and all texts except the assembly."""
        self.phase("code")
        last = self.recorder.identified(program.graph)
        self.summary["kernels"] = kernels.kernel_rows(program, last, self.recorder.arrow)
        self.summary["running"] = kernels.running_row(program)
        self.summary["memory"] = programs.memory_row(program)
        for name, payload in programs.texts(program):
            self.results.write(name, payload)
        self.results.write("tasks", tasks_part(last))
        computations = computations_part(program, self.options["precision"])
        self.results.write("computations", computations)
        stages = self.recorder.graphs
        provenance = programs.provenance(stages, program, self.recorder.arrow)
        self.results.write("provenance", provenance)
        self.ready("code")

    def ready(self, part: str) -> None:
        """Announce a new part of the result."""
        self.recorder.write_summary()
        self.say("ready", {"part": part})

    def examine(self, program: Program, model: Model) -> None:
        """Measure, disassemble, check and evaluate the program, each if requested and possible."""
        runs_here = self.options["target"] == "host"
        inputs, why_none = try_random_inputs(model.graph, self.shapes, self.options["seed"])
        if runs_here and self.options["measure"]:
            self.phase("measure")
            profile = measure(program, inputs, why_none, self.options, self.summary, self.say)
            if profile is not None:
                self.results.write("profile", profile)
            self.ready("measure")
        self.phase("listing")
        if program.kernels:
            self.listings = programs.listings_of(program)
            for name, payload in programs.assembly(program, self.listings.plain):
                self.results.write(name, payload)
        self.ready("listing")
        if runs_here and self.options["check"]:
            self.phase("check")
            seed = self.options["seed"]
            self.summary["check"] = check(program, model.graph, inputs, why_none, seed)
            self.ready("check")
        if runs_here and self.options["accuracy"] and model.labelled is not None:
            self.phase("accuracy")
            self.summary["accuracy"] = accuracy(program, model.graph, model.labelled)
            self.ready("accuracy")
        self.phase("links")
        self.relate(program)
        self.ready("links")

    def relate(self, program: Program) -> None:
        """Store the links between lines, and the fusion verdict of each edge."""
        if self.listings is not None:
            threads = self.options["threads"]
            for name, payload in kernel_links(program, threads, self.listings):
                self.results.write(name, payload)
        first = self.recorder.graphs[0].graph
        stages, ways = self.recorder.event_stages, self.recorder.event_ways
        answers = neighbours(first, program.trace, stages, ways)
        self.results.write("neighbours", answers)


def compiled(graph: Graph, made: Compilation, shapes: Shapes, progress: Progress) -> Program:
    """Compile an imported graph as requested."""
    options = options_of(made.request)
    return compiler.compile(
        graph,
        pipeline=options.pipeline,
        target=options.target,
        threads=options.threads,
        precision=options.precision,
        inputs=shapes or None,
        tuned=True if made.schedules is None else str(made.schedules),
        progress=progress,
        gate=options.gate,
    )


def first_run(program: Program, graph: Graph, shapes: Shapes, seed: int) -> None:
    """Run the program once, to generate code for its run-time shapes and parameters."""
    inputs, _ = try_random_inputs(graph, shapes, seed)
    if inputs is not None:
        with suppress(CompileError):  # the measurement reports a refusal of the inputs
            program.run(inputs)


def compile_model(task: Task, results: Results) -> None:
    """Compile a model and give back every part of the result. Errors: the errors of the model or
    the pipeline."""
    _Job(task, results).compile()


def inspect_model(task: Task, results: Results) -> None:
    """Read a model, and give back its facts and stage 0, the imported graph."""
    job = _Job(task, results)
    job.read()
    job.phase("")
    job.recorder.write_summary()


def versions() -> dict[str, str]:
    """Return the versions that affect a result."""
    return {
        "compilarium": compiler.__version__,
        "python": platform.python_version(),
        **_package_versions(),
    }


@cache
def _package_versions() -> Mapping[str, str]:
    """Return the versions of installed packages; reading the facts about a package is slow."""
    found: dict[str, str] = {}
    for package in ("onnx", "numpy", "llvmlite"):
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def host_facts() -> Host:
    """Return facts about this machine."""
    found = host()
    kind = found.triple.partition("-")[0]
    name = f"{kind}, vectors of {found.vector_bytes} bytes"
    return {"name": name, "triple": found.triple, "vector_bytes": found.vector_bytes}


def command(
    file_name: str,
    pipeline: str,
    shapes: Mapping[str, Any],
    options: Any,
    tuned: str,
    without: Sequence[str] = (),
) -> str:
    """Return the command line that reproduces a compilation.

    Tuned schedules need a file; a comment at the end of the command gives the URL of this file.
    """
    named = f"./{file_name}" if file_name.startswith("-") else file_name
    words = ["compilarium", "compile", named, "--pipeline", pipeline]
    if options["target"] != "host":
        words += ["--target", options["target"]]
    if options["precision"] != "f32":
        words += ["--precision", options["precision"]]
    if options["threads"] != 1:
        words += ["--threads", str(options["threads"])]
    if tuned:
        words += ["--database", schedules_name(tuned)]
    for rule in without:
        words += ["--without", rule]
    for name, dims in shapes.items():
        words += ["--shape", f"{name}={','.join(map(str, dims))}"]
    return shlex.join(words) + (f"  # file: /api/v1/jobs/{tuned}/tuning/schedules" if tuned else "")
