"""The way from an optimised graph with known shapes to something that runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from compiler.codegen.jit import Library
from compiler.codegen.module import Launch, module_ir
from compiler.ir.graph import Graph
from compiler.loops.nodes import Kernel
from compiler.runtime.arrange import arrange
from compiler.runtime.built import Built
from compiler.runtime.constants import ConstantPool
from compiler.runtime.executable import (
    Executable,
    FallbackSegment,
    NativeSegment,
    Segment,
    fallback_graph,
)
from compiler.runtime.kernels import kernel_infos
from compiler.runtime.native import Launchable, functions, launches
from compiler.runtime.select import NativeWork, Selector, ViewWork
from compiler.targets.target import Target

Stage = Callable[[str], AbstractContextManager[None]]
"""Opens a step of the compilation under a name; it is timed until the block ends."""


def build_program(graph: Graph, target: Target, stage: Stage) -> Built:
    """Choose, arrange, write and compile everything that runs the graph.

    For another target than the host there is text but nothing that runs.
    """
    with stage("loops"):
        works = list(Selector(graph, target).works())
        launched: list[Launchable] = [w for w in works if not isinstance(w, ViewWork)]
        made = functions(launched)
    with stage("memory"):
        arrangement = arrange(graph, works)
        pool = ConstantPool()
        calls = launches(launched, graph, arrangement, made.symbols, pool)
    groups = segments(launched)
    with stage("llvm"):
        text = _module(made.kernels, calls, groups, target)
    built = Built(
        graph,
        None,
        target,
        kernels=kernel_infos(launched, graph, made.symbols, made.kernels),
        plan=arrangement.plan,
        functions=made.kernels,
        launches=calls,
        llvm=text,
        weight_bytes=pool.nbytes,
        is_compiled=True,
    )
    if target.name != "host":
        return built
    with stage("machine code"):
        library = Library.compile(text, target)
    with stage("pack weights"):
        block = pool.block()
    parts = list(_segments(launched, groups, graph, library))
    executable = Executable(graph, arrangement, parts, block, keep=library)
    return replace(built, library=library, executable=executable)


def segments(works: Sequence[Launchable]) -> list[tuple[int, ...]]:
    """Positions that run together: neighbouring native works as one, fallbacks alone."""
    groups: list[tuple[int, ...]] = []
    for number, work in enumerate(works):
        is_native = isinstance(work, NativeWork)
        if groups and is_native and isinstance(works[groups[-1][0]], NativeWork):
            groups[-1] += (number,)
        else:
            groups.append((number,))
    return groups


def _module(
    kernels: Mapping[str, Kernel],
    calls: Mapping[int, Launch],
    groups: Sequence[tuple[int, ...]],
    target: Target,
) -> str:
    """The module with an entry point per native segment, numbered in order."""
    ranges: list[tuple[int, int]] = []
    ordered: list[Launch] = []
    for group in groups:
        if group[0] in calls:
            ranges.append((len(ordered), len(ordered) + len(group)))
            ordered += [calls[i] for i in group]
    return module_ir(kernels, ordered, target, ranges)


def _segments(
    works: Sequence[Launchable],
    groups: Sequence[tuple[int, ...]],
    graph: Graph,
    library: Library,
) -> Iterator[Segment]:
    n_native = 0
    for group in groups:
        work = works[group[0]]
        if isinstance(work, NativeWork):
            yield NativeSegment(library.function(f"run_{n_native}"), group)
            n_native += 1
        else:
            yield FallbackSegment(fallback_graph(work.node, graph), work.node, group)
