"""The driver: compilation of a model to a program for known shapes, for all sizes, or for both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph
from compiler.ir.infer import fix_sizes, specialize
from compiler.ir.operator import Array
from compiler.ir.types import TensorType, Type
from compiler.limits import Limits, limited
from compiler.options import Options
from compiler.passes.control_flow.declare import declared, specialised, with_values
from compiler.passes.control_flow.parameters import needed_parameters, possible_parameters
from compiler.passes.pipeline.precision import check_suits
from compiler.runtime.built import Built
from compiler.runtime.program import Program, Shapes, Specialised
from compiler.stages import Clock, build, generate, improve, optimise, portable

if TYPE_CHECKING:
    from compiler.runtime.buckets import Buckets
    from compiler.runtime.open.program import OpenProgram


def compile(graph: Graph | str | PathLike[str] | bytes, options: Options) -> Program:
    """Compile a graph, an ONNX file or its bytes, without the disk cache.

    Errors: the errors of reading the model, the errors of the options, E-INPUT-*, E-SCHEDULE-*,
    E-LIMIT-*, E-TUNE-DATABASE.
    """
    _ = options.code  # read the database of schedules before the model, without a time limit
    with limited(options.limits):
        program = _compile(graph, options)
    program.notes += options.notes
    return program


def _compile(graph: Graph | str | PathLike[str] | bytes, options: Options) -> Program:
    clock = Clock(options.progress)
    if not isinstance(graph, Graph):
        with clock.stage("import"):
            graph = _load(graph, options.limits)
    check_suits(graph, options.precision)
    if options.inputs:
        with clock.stage("specialise"):
            graph = specialize(graph, options.inputs)
    wanted = _wanted(graph, options.buckets) if options.buckets else {}
    return _program(graph, options, clock, wanted)


def _program(
    source: Graph, options: Options, clock: Clock, wanted: Mapping[str, tuple[int, ...]]
) -> Program:
    """Build the program of a graph, with specialised code for the requested sizes."""
    # Run passes for open shapes, too: the trace shows them, and errors appear before a run.
    optimised, trace = optimise(source, options, clock)
    without_code = partial(portable, source, optimised, options)
    is_open, has_parameters = has_open_inputs(source), bool(possible_parameters(source))
    opened: OpenProgram | None = None
    notes: tuple[str, ...] = ()
    if is_open or (_has_sizes_of_data(optimised) and not has_parameters):
        opened, why = _open_program(source, optimised, options, clock)
        notes = (why,) if is_open or opened is not None else ()
    if opened is not None:
        built = replace(opened.built, trace=trace, stages=tuple(clock.stages))
    elif is_open:
        built = Built(optimised, trace, options.target, tuple(clock.stages))
    else:
        built = generate(optimised, trace, options.code, clock)
        if not has_parameters:
            return _known_program(source, built, options, without_code)
    specialise = _Specialiser(source, built, opened is not None, options)
    if not wanted:
        return Program(source, built, specialise, opened, notes, portable=without_code)
    made = _buckets(source, opened, options, wanted)
    notes = (*notes, *map(str, made.buckets))
    return Program(source, built, specialise, opened, notes, made, without_code)


def _known_program(
    source: Graph, built: Built, options: Options, without_code: Callable[[], Graph]
) -> Program:
    """Return the program of a graph with known shapes; after tier 0, begin to compile tier 1."""
    program = Program(source, built, None, notes=built.beside, portable=without_code)
    if options.tier == 0 and built.executable is not None:
        program.improve(lambda: improve(built, options.code))
    return program


@dataclass(frozen=True, slots=True)
class _Specialiser:
    """Compiles a graph for given shapes, and for given values of the inputs that affect the code.

    `is_general` states whether the code in `built` serves all sizes.
    """

    source: Graph
    built: Built
    is_general: bool
    options: Options

    def __call__(self, shapes: Shapes, given: Mapping[str, Array]) -> Specialised:
        clock = Clock(self.options.progress)
        with clock.stage("specialise"):
            known = specialised(self.source, shapes, {})
            values = {name: given[name] for name in possible_parameters(known) if name in given}
            values = needed_parameters(known, values) if values else {}
            if not values and not self.is_general and not has_open_inputs(self.source):
                return Specialised(self.built, values)  # no code depends on the parameters
            known = declared(with_values(known, values)) if values else known
        return Specialised(build(known, self.options, clock), values)


# Modules that only some programs need are imported on use.


def _load(source: str | PathLike[str] | bytes, limits: Limits | None) -> Graph:
    from compiler.frontend import load

    return load(source) if limits is None else load(source, limits)


def _wanted(graph: Graph, buckets: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
    from compiler.runtime.buckets import checked_buckets

    return checked_buckets(graph, buckets)


def _buckets(
    source: Graph,
    opened: OpenProgram | None,
    options: Options,
    wanted: Mapping[str, tuple[int, ...]],
) -> Buckets:
    """Build a program for each requested size; rows are padded only if all rows are independent."""
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
        return None, "one program per set of shapes: the code depends on elements of some inputs"
    if options.memory_limit_bytes is not None:
        return (
            None,
            "one program per set of shapes: the effect of the memory limit depends on the shapes",
        )
    try:
        opened = build_open(optimised, options.code, clock.stage)
    except NotOpen as e:
        return None, f"one program per set of shapes: {e}"
    return opened, "one program serves all sizes"


# Shapes


def has_open_inputs(graph: Graph) -> bool:
    """Return whether an input tensor has dimensions that are unknown before a run."""
    return any(isinstance(v.type, TensorType) and not v.type.is_static for v in graph.inputs)


def _has_sizes_of_data(graph: Graph) -> bool:
    """Return whether some node reads a value whose size depends on data."""
    sized = {v.name for n in graph.nodes for v in n.values() if _is_open(v.type)}
    return any(not sized.isdisjoint(n.reads) for n in graph.nodes)


def _is_open(t: Type) -> bool:
    return isinstance(t, TensorType) and t.is_ranked and not t.is_static
