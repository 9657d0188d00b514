"""The driver: specialisation, passes, loops, memory planning and machine code, each step timed."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from os import PathLike
from time import perf_counter
from typing import TYPE_CHECKING, cast

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.infer import fix_sizes, specialize
from compiler.ir.operator import Array
from compiler.ir.types import TensorType, Type
from compiler.limits import Limits, check, limited
from compiler.machine.database import Tuned, tuned_schedules
from compiler.memory.orders import METHODS
from compiler.passes.control_flow.declare import declared, specialised, with_values
from compiler.passes.control_flow.parameters import needed_parameters, possible_parameters
from compiler.passes.pipeline.pipeline import Line, Pipeline
from compiler.passes.pipeline.precision import check_suits, precision_mode, with_precision
from compiler.passes.pipeline.run import run_pipeline
from compiler.passes.pipeline.text import as_pipeline
from compiler.runtime.build import build_program
from compiler.runtime.built import Built, Stage
from compiler.runtime.program import Program, Shapes, Specialised
from compiler.runtime.threads import code_options
from compiler.schedule.language.sections import as_schedules
from compiler.targets.options import CodeOptions, Spread
from compiler.targets.target import Target, by_name
from compiler.trace import Event, Gate, Trace

if TYPE_CHECKING:
    from compiler.runtime.buckets import Buckets
    from compiler.runtime.open.program import OpenProgram

Progress = Callable[[str, Event | None], None]
"""Callback with the name of each step that starts, and with the event of each pass that ends."""


@dataclass(frozen=True, slots=True)
class Options:
    """The checked options of one call of `compile`."""

    pipeline: Pipeline
    code: CodeOptions
    precision: str = "f32"
    keep_trace: bool = True
    verify: bool = True
    progress: Progress | None = None
    gate: Gate | None = None


def compile(
    graph: Graph | str | PathLike[str] | bytes,
    pipeline: str | Pipeline | Sequence[Line] = "default",
    target: str | Target = "host",
    threads: int = 1,
    precision: str = "f32",
    inputs: Mapping[str, Sequence[int]] | None = None,
    trace: bool = True,
    progress: Progress | None = None,
    verify: bool = True,
    buckets: Mapping[str, Sequence[int]] | None = None,
    gate: Gate | None = None,
    schedules: Mapping[str, str] | str | None = None,
    tier: int = 1,
    tuned: bool | str | PathLike[str] | Tuned = True,
    order: str = "best",
    memory_limit_bytes: int | None = None,
    spread: str = "loops",
    seconds: Mapping[str, float] | None = None,
    limits: Limits | None = None,
) -> Program:
    """Compile a graph, an ONNX file or its bytes to a program.

    `inputs` gives the shapes of inputs with open dimensions. Without these shapes, one program
    serves all sizes. If a node requires known sizes, each set of shapes is compiled at its first
    run instead, and the program's `notes` name the node. The first run with new elements of
    parameter inputs (axes, pads, counts) compiles, too.
    `buckets` lists values of open dimensions that get specialised code, as in `{"N": [1, 8]}`.
    `precision` changes lines of the pipeline: docs/precision.md states the guarantee of each mode.
    `threads` is the number of threads of a run, at most 256; no bit of the results depends on it.
    `trace=False` discards the trace of the passes. `gate` is called before each rewrite and may
    prevent the rewrite.
    `schedules` maps kernel names to moves, or is a text as `emit("schedules")` prints it: see
    docs/schedules.md.
    `tier=0` returns a program sooner, with slower code. When optimised code is ready, it replaces
    the slower code, which may change the last bits of sums; `program.settle()` waits until then.
    `tuned` selects a database of schedules tuned for this machine: the user's own (True), none
    (False), or a file. The program's `notes` give the number of kernels with a tuned schedule.
    `order` names the method that orders the launches, for example `given`, or `best` for the lowest
    peak memory found in little time: see docs/operator-order.md.
    `memory_limit_bytes` is the maximum arena size: kernels are recomputed to stay within it.
    `spread="branches"` assigns each kernel to one thread and branches of the graph to different
    threads, by a plan (docs/threads.md). `loops`, the default, divides each kernel's loops among
    the threads. `seconds` gives this plan the kernels' times on one thread, each keyed by a value
    that the kernel computes. `limits` bounds the time and the memory of this call, not those of
    runs (docs/limits.md).
    Errors: those of reading the model, E-INPUT-* for `inputs`, E-PIPELINE-*, E-TARGET-NAME,
    E-SCHEDULE-*, E-LIMIT-*, E-OPTION-VALUE for values that are not supported.
    """
    machine = target if isinstance(target, Target) else by_name(target)
    code, about_threads = code_options(machine, threads)
    found = _found(tuned, code)
    options = Options(
        with_precision(as_pipeline(pipeline), precision, has_tiles=machine.has_bf16_tiles),
        replace(
            code,
            schedules=as_schedules(schedules),
            tuned=found,
            tier=_checked_tier(tier),
            order=_checked_order(order),
            memory_limit_bytes=_checked_limit(memory_limit_bytes),
            in_parts=precision_mode(precision).in_parts,
            spread=_checked_spread(spread),
            seconds=_checked_seconds(seconds),
        ),
        precision,
        trace,
        verify,
        progress,
        gate,
    )
    with limited(limits):
        program = _compile(graph, options, _checked_shapes(inputs), buckets, limits)
    program.notes += about_threads
    if found is not None and found.used:
        program.notes += (str(found),)
    return program


def _compile(
    graph: Graph | str | PathLike[str] | bytes,
    options: Options,
    shapes: Mapping[str, tuple[int, ...]],
    buckets: Mapping[str, Sequence[int]] | None,
    limits: Limits | None,
) -> Program:
    clock = Clock(options.progress)
    if not isinstance(graph, Graph):
        with clock.stage("import"):
            graph = _load(graph, limits)
    check_suits(graph, options.precision)
    if shapes:
        with clock.stage("specialise"):
            graph = specialize(graph, shapes)
    wanted = _wanted(graph, buckets) if buckets else {}
    return _program(graph, options, clock, wanted)


def _found(tuned: bool | str | PathLike[str] | Tuned, code: CodeOptions) -> Tuned | None:
    """Return the tuned schedules that `tuned` selects. Errors: E-TUNE-DATABASE."""
    if isinstance(tuned, Tuned):
        return tuned
    return tuned_schedules(None if tuned is True else tuned, code) if tuned else None


def _program(
    graph: Graph, options: Options, clock: Clock, wanted: Mapping[str, tuple[int, ...]]
) -> Program:
    """Build the program of a graph, with specialised code for the requested sizes."""
    source, opened = graph, None
    notes: tuple[str, ...] = ()
    # Run passes for open shapes, too: the trace shows them, and errors appear before a run.
    optimised, events = _run_passes(source, options, clock)
    is_open = has_open_inputs(source)

    def portable() -> Graph:
        return _portable(source, optimised, options)

    if is_open or (_has_sizes_of_data(optimised) and not possible_parameters(source)):
        opened, why = _open_program(source, optimised, options, clock)
        notes = (why,) if is_open or opened is not None else ()
    if opened is not None:
        built = replace(opened.built, trace=events, stages=tuple(clock.stages))
    elif is_open:
        built = Built(optimised, events, options.code.target, tuple(clock.stages))
    else:
        built = _compiled(optimised, events, options, clock)
        if not possible_parameters(source):
            program = Program(source, built, None, notes=built.beside, portable=portable)
            if options.code.tier == 0 and built.executable is not None:
                program.improve(lambda: _improved(built, options))
            return program

    def specialise(shapes: Shapes, given: Mapping[str, Array]) -> Specialised:
        again = Clock(options.progress)
        with again.stage("specialise"):
            known = specialised(source, shapes, {})
            values = {name: given[name] for name in possible_parameters(known) if name in given}
            values = needed_parameters(known, values) if values else {}
            if not values and not has_open_inputs(source) and opened is None:
                return Specialised(built, values)  # no code depends on the parameters
            known = declared(with_values(known, values)) if values else known
        return Specialised(build(known, options, again), values)

    if not wanted:
        return Program(source, built, specialise, opened, notes, portable=portable)
    made = _buckets(source, opened, options, wanted)
    notes = (*notes, *map(str, made.buckets))
    return Program(source, built, specialise, opened, notes, made, portable)


def _portable(source: Graph, optimised: Graph, options: Options) -> Graph:
    """Return the graph optimised without the passes that improve only generated code."""
    pipeline = options.pipeline.portable
    if pipeline.lines == options.pipeline.lines:
        return optimised
    made, _ = run_pipeline(
        source, pipeline, verify=options.verify, keep_declined=False, gate=options.gate
    )
    return made


def _improved(quick: Built, options: Options) -> Built:
    """Return the same graph with code of the next tier, and the extra compilation steps."""
    clock = Clock()
    better = replace(options, code=replace(options.code, tier=1))
    graph, trace = quick.graph, quick.trace
    if quick.order is not None:  # use the graph after the passes, before its nodes were reordered
        made = (quick.limited, quick.order)
        graph = (quick.limited or quick.order).before
        trace = trace and Trace([e for e in trace.events if not any(e is m for m in made)])
    made = _compiled(graph, trace, better, clock)
    return replace(made, stages=(*quick.stages, *clock.stages))


def _checked_spread(spread: object) -> Spread:
    if spread == "loops":
        return "loops"
    if spread == "branches":
        return "branches"
    raise CompileError("E-OPTION-VALUE", f"spread must be loops or branches, got {spread!r:.40}")


def _checked_seconds(seconds: object) -> dict[str, float]:
    def is_time(value: object) -> bool:
        return isinstance(value, int | float | np.floating) and bool(0 <= value < math.inf)

    if seconds is None:
        return {}
    if not isinstance(seconds, Mapping) or not all(
        isinstance(k, str) and is_time(v) for k, v in seconds.items()
    ):
        raise CompileError(
            "E-OPTION-VALUE", f"seconds must map names of values to times, got {seconds!r:.60}"
        )
    return dict(cast("Mapping[str, float]", seconds))


def _checked_tier(tier: object) -> int:
    if tier not in (0, 1) or isinstance(tier, bool):
        raise CompileError(
            "E-OPTION-VALUE",
            f"tier must be 0 or 1, got {tier!r:.40}",
            hint="tier 0 starts sooner, tier 1 runs faster",
        )
    return int(tier)  # type: ignore[call-overload]


def _checked_limit(limit_bytes: object) -> int | None:
    if limit_bytes is None:
        return None
    if isinstance(limit_bytes, bool) or not isinstance(limit_bytes, int) or limit_bytes < 0:
        raise CompileError(
            "E-OPTION-VALUE", f"a memory limit must be a number of bytes, got {limit_bytes!r:.40}"
        )
    return limit_bytes


def _checked_order(order: object) -> str:
    if not isinstance(order, str) or order not in METHODS:
        raise CompileError(
            "E-OPTION-VALUE", f"no order is named {order!r:.40}; orders: {', '.join(METHODS)}"
        )
    return order


# Modules that only some programs need are imported on use.


def _wanted(graph: Graph, buckets: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
    from compiler.runtime.buckets import checked_buckets

    return checked_buckets(graph, buckets)


def _buckets(
    source: Graph,
    opened: OpenProgram | None,
    options: Options,
    wanted: Mapping[str, tuple[int, ...]],
) -> Buckets:
    """Build a program for each requested size; pad rows only if no row depends on other rows."""
    from compiler.runtime.buckets import make_buckets

    def compiled(sizes: Mapping[str, int]) -> tuple[Program, float]:
        clock = Clock(options.progress)
        with clock.stage("specialise"):
            fixed = fix_sizes(source, sizes)
        program = _program(fixed, options, clock, {})
        return program, sum(s.seconds for s in clock.stages)

    padded = [name for name in wanted if opened is not None and opened.is_rowwise(name)]
    return make_buckets(source, wanted, frozenset(padded), compiled)


def _open_program(
    source: Graph, optimised: Graph, options: Options, clock: Clock
) -> tuple[OpenProgram | None, str]:
    """Return the program that serves all sizes, or None, and a note that explains this outcome."""
    from compiler.runtime.open.build import NotOpen, build_open

    if possible_parameters(source):
        return None, "one program per set of shapes: some inputs are parameters of the code"
    if options.code.memory_limit_bytes is not None:
        return (
            None,
            "one program per set of shapes: the effect of the memory limit depends on them",
        )
    try:
        opened = build_open(optimised, options.code, clock.stage)
    except NotOpen as e:
        return None, f"one program per set of shapes: {e}"
    return opened, "one program serves all sizes"


def has_open_inputs(graph: Graph) -> bool:
    """Return whether a tensor among the inputs has dimensions that are unknown until a run."""
    return any(isinstance(v.type, TensorType) and not v.type.is_static for v in graph.inputs)


def _has_sizes_of_data(graph: Graph) -> bool:
    """Return whether some node reads a value whose size depends on data."""
    sized = {v.name for n in graph.nodes for v in n.values() if _is_open(v.type)}
    return any(not sized.isdisjoint(n.reads) for n in graph.nodes)


def _is_open(t: Type) -> bool:
    return isinstance(t, TensorType) and t.is_ranked and not t.is_static


def _load(source: str | PathLike[str] | bytes, limits: Limits | None) -> Graph:
    from compiler.frontend import load

    return load(source) if limits is None else load(source, limits)


def _checked_shapes(inputs: object) -> dict[str, tuple[int, ...]]:
    """Check `inputs` and return shapes by name. Errors: E-INPUT-SHAPE."""
    if inputs is None:
        return {}
    if not isinstance(inputs, Mapping):
        raise CompileError(
            "E-INPUT-SHAPE", f"inputs must map names to shapes, got {type(inputs).__name__}"
        )
    return {str(name): _checked_shape(str(name), shape) for name, shape in inputs.items()}


def _checked_shape(name: str, shape: object) -> tuple[int, ...]:
    try:
        return tuple(operator.index(size) for size in shape)  # type: ignore[attr-defined]
    except TypeError as e:
        raise CompileError(
            "E-INPUT-SHAPE",
            f"the shape of {name!r:.60} must be a tuple of integers, got {shape!r:.60}",
            hint='for example inputs={"x": (1, 3, 224, 224)}',
        ) from e


@dataclass
class Clock:
    """A timer of compilation steps that reports progress."""

    progress: Progress | None = None
    stages: list[Stage] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Time one step: the block of the `with` statement."""
        check(name)
        if self.progress is not None:
            self.progress(name, None)
        start = perf_counter()
        yield
        self.stages.append(Stage(name, perf_counter() - start))

    def event(self, event: Event) -> None:
        """Report the end of a pass."""
        if self.progress is not None:
            self.progress(event.name, event)


def _run_passes(graph: Graph, options: Options, clock: Clock) -> tuple[Graph, Trace | None]:
    with clock.stage("passes"):
        optimised, trace = run_pipeline(
            graph,
            options.pipeline,
            verify=options.verify,
            keep_declined=options.keep_trace,
            progress=clock.event,
            gate=options.gate,
        )
    return optimised, trace if options.keep_trace else None


def build(source: Graph, options: Options, clock: Clock) -> Built:
    """Compile a graph whose inputs have fixed shapes, from the passes to machine code."""
    return _compiled(*_run_passes(source, options, clock), options, clock)


def _compiled(graph: Graph, trace: Trace | None, options: Options, clock: Clock) -> Built:
    built = build_program(graph, options.code, clock.stage)
    if trace is not None:
        made = (built.limited, built.order)
        trace = Trace([*trace.events, *(event for event in made if event is not None)])
    return replace(built, trace=trace, stages=tuple(clock.stages))
