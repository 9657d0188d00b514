"""Compilation of an optimised graph with known shapes to an executable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from compiler.codegen.jit import Library
from compiler.codegen.llvm import FunctionText
from compiler.codegen.module import Launch
from compiler.dataclass import dataclass
from compiler.ir.graph import Graph
from compiler.runtime.built import Built
from compiler.runtime.code import Code, Stage, Written, segments, written_functions
from compiler.runtime.concurrent import concurrent, described
from compiler.runtime.executable import (
    CompiledBody,
    Executable,
    FallbackSegment,
    NativeSegment,
    Segment,
)
from compiler.runtime.thunks.arrange import needed
from compiler.runtime.thunks.bodies import compiled_bodies
from compiler.runtime.thunks.branches import sections
from compiler.runtime.thunks.constants import ConstantPool
from compiler.runtime.thunks.kernels import KernelInfo, inner_infos, kernel_infos
from compiler.runtime.thunks.launch_order import LaunchOrder, in_order, ordered_launches
from compiler.runtime.thunks.native import Launchable, calls
from compiler.runtime.thunks.partition import grouped
from compiler.runtime.thunks.planned import planned_sections
from compiler.runtime.thunks.select import FallbackThunk, Selector, Thunk, Unlaunched
from compiler.runtime.thunks.shared import sharing
from compiler.runtime.thunks.user_schedules import UserSchedules
from compiler.targets.options import CodeOptions
from compiler.trace import Event

if TYPE_CHECKING:
    from compiler.runtime.thunks.memory_limit import Limited


def build_program(graph: Graph, options: CodeOptions, stage: Stage) -> Built:
    """Select implementations, plan memory, and generate and compile the code of a graph.

    For targets other than the host, the result has text but no executable.
    """
    with stage("loops"):
        selected = _select(graph, options)
    with stage("llvm"):
        written = written_functions(selected.thunks, options.of_kernels)
    with stage("memory"):
        ordered = _order(selected, written.thunks, options)
        called = _call(ordered, written)
    code = _code(ordered, called, written, options)
    built = _described(selected, ordered, called, code, options)
    if options.target.name != "host":
        return built
    return _link(built, ordered, called, code, options, stage)


# Select


@dataclass(frozen=True)
class _Selected:
    """The implementation of each node; a memory limit may add copies of nodes to the graph."""

    graph: Graph
    thunks: list[Thunk]
    limited: Event | None = None


def _select(graph: Graph, options: CodeOptions) -> _Selected:
    """Select implementations, within the memory limit and with user schedules."""
    user_schedules = UserSchedules(options.of_kernels)
    selector = Selector(graph, options.of_kernels)
    thunks = grouped(list(selector.thunks()))
    if options.memory_limit_bytes is None:
        made = _Selected(graph, sharing(graph, thunks, options.order))
    else:
        limited = _limited(graph, thunks, options, selector)
        made = _Selected(limited.graph, limited.thunks, limited.event)
    made = replace(made, thunks=user_schedules.applied(made.thunks, made.graph))
    user_schedules.finish()
    return made


def _limited(
    graph: Graph, thunks: list[Thunk], options: CodeOptions, selector: Selector
) -> Limited:
    """Return a graph within the memory limit; kernels keep their existing schedules."""
    limit_bytes = options.memory_limit_bytes
    assert limit_bytes is not None
    # Few programs have a limit, so this module and `memory/remat` are imported on use.
    from compiler.runtime.thunks.memory_limit import within_limit

    def select(again: Graph) -> list[Thunk]:
        return grouped(list(Selector(again, options, selector).thunks()))

    return within_limit(graph, thunks, limit_bytes, options.target, options.order, select)


# Order


@dataclass(frozen=True)
class _Ordered:
    """The launches of a graph in execution order, and the places of the launches' values."""

    graph: Graph
    launched: list[Launchable]
    order: LaunchOrder
    event: Event


def _order(selected: _Selected, thunks: Sequence[Thunk], options: CodeOptions) -> _Ordered:
    """Choose concurrent launches, order all launches, and plan their memory."""
    start = perf_counter()
    graph = selected.graph
    needs = needed(graph, thunks)
    # Concurrent launches need their memory at the same time, so with a memory limit, launches run
    # one at a time.
    choose = planned_sections if options.spread == "branches" else sections
    found = (
        ()
        if selected.limited is not None
        else choose(_launched(thunks), needs.views, graph, options)
    )
    order = ordered_launches(thunks, needs, found, options.order)
    listed = in_order(graph, order.thunks) if order.is_changed else graph
    event = Event("order", graph, listed, perf_counter() - start, words=order.words)
    return _Ordered(listed, _launched(order.thunks), order, event)


def _launched(thunks: Sequence[Thunk]) -> list[Launchable]:
    return [w for w in thunks if not isinstance(w, Unlaunched)]


# Call


@dataclass(frozen=True)
class _Called:
    """The calls of launches by launch number, functions of nodes with regions, and constants."""

    launches: Mapping[int, Launch]
    texts: Sequence[FunctionText]
    pool: ConstantPool


def _call(ordered: _Ordered, written: Written) -> _Called:
    """Return the calls of all functions, with pointers to the places of operands and results."""
    pool = ConstantPool()
    arrangement = ordered.order.arrangement
    made = calls(ordered.launched, ordered.graph, arrangement, written.made, pool)
    return _Called(made.launches, made.texts, pool)


def _code(ordered: _Ordered, called: _Called, written: Written, options: CodeOptions) -> Code:
    """Return the code of all functions, with one launch for each concurrent section."""
    at_once = concurrent(ordered.order.beside, called.launches, options)
    return Code.of(
        written,
        [*called.texts, *at_once.texts],
        called.launches,
        segments(ordered.launched),
        instead=at_once.instead,
    )


def _described(
    selected: _Selected, ordered: _Ordered, called: _Called, code: Code, options: CodeOptions
) -> Built:
    """Return the program without machine code."""
    made, order = code.written.made, ordered.order
    symbols = {number: call.symbol for number, call in called.launches.items()}
    infos = kernel_infos(ordered.launched, ordered.graph, symbols, made.kernels, made.by_identity)
    return Built(
        ordered.graph,
        None,
        options.target,
        kernels=infos,
        plan=order.arrangement.plan,
        functions=made.kernels,
        launches=called.launches,
        llvm=code.text(options.target),
        weight_bytes=called.pool.nbytes,
        is_compiled=True,
        beside=described(order.beside, [k.name for k in infos], options),
        sections=order.beside,
        order=ordered.event,
        order_effect=order.effect,
        limited=selected.limited,
        threads=options.threads,
    )


# Link


def _link(
    built: Built,
    ordered: _Ordered,
    called: _Called,
    code: Code,
    options: CodeOptions,
    stage: Stage,
) -> Built:
    """Return the program with machine code, and with the code of regions that fallbacks run."""
    library, block = code.library(stage, called.pool)
    inside = {
        number: _bodies(w, ordered.graph, options, stage)
        for number, w in enumerate(ordered.launched)
    }
    parts = list(_segments(ordered.launched, library, inside))
    arrangement = ordered.order.arrangement
    inner_bytes = sum(b.weight_bytes for bodies in inside.values() for b, _ in bodies.values())
    return replace(
        built,
        library=library,
        executable=Executable(ordered.graph, arrangement, parts, block, keep=library),
        kernels=(*built.kernels, *_inner_kernels(built.kernels, inside)),
        weight_bytes=called.pool.nbytes + inner_bytes,
    )


Bodies = Mapping[str, tuple[Built, tuple[str, ...]]]
"""Maps keys of regions to their compiled code and the names of the inputs that they capture."""


def _bodies(thunk: Launchable, graph: Graph, options: CodeOptions, stage: Stage) -> Bodies:
    """Compile the regions of a fallback node, if all sizes are known."""
    options = replace(options, schedules=(), memory_limit_bytes=None)
    return {
        key: (build_program(closed.graph, options, stage), closed.captured)
        for key, closed in compiled_bodies(thunk, graph)
    }


def _inner_kernels(
    kernels: Sequence[KernelInfo], inside: Mapping[int, Bodies]
) -> Iterator[KernelInfo]:
    for number, bodies in inside.items():
        for key, (b, _) in bodies.items():
            yield from inner_infos(b.kernels, kernels[number].name, key)


def _segments(
    thunks: Sequence[Launchable],
    library: Library,
    inside: Mapping[int, Bodies],
) -> Iterator[Segment]:
    n_native = 0
    for group in segments(thunks):
        thunk = thunks[group[0]]
        if isinstance(thunk, FallbackThunk):
            bodies = inside.get(group[0], {})
            compiled = {
                k: CompiledBody(b.executable, c) for k, (b, c) in bodies.items() if b.executable
            }
            yield FallbackSegment(thunk.node, group, compiled)
        else:
            yield NativeSegment(library.function(f"run_{n_native}"), group)
            n_native += 1
