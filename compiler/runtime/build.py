"""Compilation of an optimised graph with known shapes to an executable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from compiler.codegen.branches import side_by_side
from compiler.codegen.jit import Library, Objects
from compiler.codegen.llvm import FunctionText, function_text
from compiler.codegen.module import Launch, declaration, entries, module_of
from compiler.codegen.planned_launches import by_lanes
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.constant import Array
from compiler.ir.graph import Graph, Node
from compiler.ir.regions import close
from compiler.ir.verify import verify
from compiler.limits import check, check_seconds
from compiler.loops.limits import NotLowerable
from compiler.ops.control_flow.control import CONTROL_FLOW
from compiler.runtime.built import Built
from compiler.runtime.executable import (
    CompiledBody,
    Executable,
    FallbackSegment,
    NativeSegment,
    Segment,
)
from compiler.runtime.frame import in_memory
from compiler.runtime.thunks.arrange import needed
from compiler.runtime.thunks.branches import Section, sections
from compiler.runtime.thunks.constants import ConstantPool
from compiler.runtime.thunks.kernels import inner_infos, kernel_infos
from compiler.runtime.thunks.launch_order import in_order, ordered_launches
from compiler.runtime.thunks.native import Functions, Launchable, calls, functions
from compiler.runtime.thunks.partition import grouped
from compiler.runtime.thunks.planned import planned_sections
from compiler.runtime.thunks.select import (
    FallbackThunk,
    Selector,
    Thunk,
    Unlaunched,
    inner_thunks,
)
from compiler.runtime.thunks.shared import sharing
from compiler.runtime.thunks.user_schedules import UserSchedules
from compiler.targets.options import CodeOptions
from compiler.targets.target import Target
from compiler.trace import Event

if TYPE_CHECKING:
    from compiler.runtime.thunks.memory_limit import Limited

Stage = Callable[[str], AbstractContextManager[None]]
"""Function that returns a context manager, which times a named step of the compilation."""


MOST_TEXT = 800_000
"""Maximum length of one function's LLVM IR, in characters: LLVM's compile time grows superlinearly,
and LLVM cannot be interrupted. Kernels of real models have less than a tenth of the maximum
length."""

TEXT_PER_SECOND = 400_000
"""Estimated speed of LLVM: characters of IR compiled per second."""


def build_program(graph: Graph, options: CodeOptions, stage: Stage) -> Built:
    """Select implementations, plan memory, and generate and compile the code of a graph.

    For targets other than the host, the result has text but no executable.
    """
    target = options.target
    with stage("loops"):
        of_kernels = options.of_kernels
        user_schedules = UserSchedules(of_kernels)
        selector, limited = Selector(graph, of_kernels), None
        thunks = grouped(list(selector.thunks()))
        if options.memory_limit_bytes is not None:
            limited = _limited(graph, thunks, options, selector)
            graph, thunks = limited.graph, limited.thunks
        else:
            thunks = sharing(graph, thunks, options.order)
        thunks = user_schedules.applied(thunks, graph)
        user_schedules.finish()
    with stage("llvm"):
        written = written_functions(thunks, of_kernels)
        thunks, made = written.thunks, written.made
    launched: list[Launchable] = [w for w in thunks if not isinstance(w, Unlaunched)]
    with stage("memory"):
        start = perf_counter()
        needs = needed(graph, thunks)
        # Concurrent launches need their memory at the same time, so with a memory limit, launches
        # run one at a time.
        choose = planned_sections if options.spread == "branches" else sections
        beside = () if limited else choose(launched, needs.views, graph, options)
        ordered = ordered_launches(thunks, needs, beside, options.order)
        thunks, arrangement, beside = list(ordered.thunks), ordered.arrangement, ordered.beside
        launched = [w for w in thunks if not isinstance(w, Unlaunched)]
        listed, graph = graph, in_order(graph, thunks) if ordered.is_changed else graph
        event = Event("order", listed, graph, perf_counter() - start, words=ordered.words)
        pool = ConstantPool()
        called = calls(launched, graph, arrangement, made, pool)
    groups = segments(launched)
    at_once = [_at_once(i, s, called.launches, options) for i, s in enumerate(beside)]
    callers = [*called.texts, *(text for _, _, text in at_once)]
    instead = {s.first: (launch, s.end) for s, launch, _ in at_once}
    code = Code.of(written, callers, called.launches, groups, instead=instead)
    infos = kernel_infos(
        launched,
        graph,
        {number: call.symbol for number, call in called.launches.items()},
        made.kernels,
        made.by_identity,
    )
    built = Built(
        graph,
        None,
        target,
        kernels=infos,
        plan=arrangement.plan,
        functions=made.kernels,
        launches=called.launches,
        llvm=code.text(target),
        weight_bytes=pool.nbytes,
        is_compiled=True,
        beside=_beside(beside, [k.name for k in infos], options),
        sections=beside,
        order=event,
        order_effect=ordered.effect,
        limited=limited and limited.event,
        threads=options.threads,
    )
    if target.name != "host":
        return built
    library, block = code.library(stage, pool)
    inside = {
        number: _bodies(w.node, graph, options, stage)
        for number, w in enumerate(launched)
        if isinstance(w, FallbackThunk) and w.node.op in CONTROL_FLOW
    }
    parts = list(_segments(launched, groups, library, inside))
    executable = Executable(graph, arrangement, parts, block, keep=library)
    made_inside = [b for bodies in inside.values() for b, _ in bodies.values()]
    inner = [
        info
        for number, bodies in inside.items()
        for key, (b, _) in bodies.items()
        for info in inner_infos(b.kernels, built.kernels[number].name, key)
    ]
    return replace(
        built,
        library=library,
        executable=executable,
        kernels=(*built.kernels, *inner),
        weight_bytes=pool.nbytes + sum(b.weight_bytes for b in made_inside),
    )


def _beside(
    found: Sequence[Section], names: Sequence[str], options: CodeOptions
) -> tuple[str, ...]:
    """Describe concurrent launches; if branches were requested, also report that none exist."""
    if not found and options.spread == "branches":
        return ("no branches run in parallel: a single thread is as fast",)
    return tuple(s.words(names) for s in found)


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


def _at_once(
    number: int, section: Section, calls: Mapping[int, Launch], options: CodeOptions
) -> tuple[Section, Launch, FunctionText]:
    """Return a section of concurrent chains, its launch, and the launched function."""
    thunk = int(section.in_turn)
    if options.spread == "branches":
        numbers = range(section.first, section.end)
        lanes = [[i - section.first for i in chain] for chain in section.chains]
        after = {
            i - section.first: [v - section.first for v in followers]
            for i, followers in section.after.items()
        }
        tasks = [calls[i] for i in numbers]
        name = f"by_plan.{number}"
        launch, text = by_lanes(name, tasks, lanes, after, thunk, options.target)
        return section, launch, text
    chains = [[calls[i] for i in chain] for chain in section.chains]
    launch, text = side_by_side(f"side_by_side.{number}", chains, options.threads, thunk)
    return section, launch, text


Bodies = Mapping[str, tuple[Built, tuple[str, ...]]]
"""Maps keys of regions to their compiled code and the names of the inputs that they capture."""


def _bodies(node: Node, graph: Graph, options: CodeOptions, stage: Stage) -> Bodies:
    """Compile the regions of a fallback node, if all sizes are known."""
    found: dict[str, tuple[Built, tuple[str, ...]]] = {}
    options = replace(options, schedules=(), memory_limit_bytes=None)
    for key, region in node.regions.items():
        closed = close(region, graph.types, graph.constants)
        if not all(in_memory(v.type) for v in closed.graph.inputs):
            continue
        try:
            verify(closed.graph)
        except CompileError:
            continue  # the region fails at run time, if it is ever executed
        found[key] = build_program(closed.graph, options, stage), closed.captured
    return found


@dataclass(frozen=True)
class Written:
    """Implementations, and the text of distinct kernels; `objects` is None for other machines."""

    thunks: list[Thunk]
    made: Functions
    texts: list[FunctionText]
    objects: Objects | None


def written_functions(thunks: list[Thunk], options: CodeOptions) -> Written:
    """Generate LLVM IR for each distinct kernel; kernels that LLVM cannot express fall back."""
    made = functions(thunks)
    written, refused = _written(thunks, made, options)
    if not refused:
        return written
    if written.objects is not None:
        written.objects.drop()
    kept = [_without_refused(w, made, refused) for w in thunks]
    return _written(kept, functions(kept), options)[0]


def _written(
    thunks: list[Thunk], made: Functions, options: CodeOptions
) -> tuple[Written, dict[int, str]]:
    """Return the texts of kernels, and the reasons for omitted kernels, by their identity."""
    target = options.target
    objects = Objects(target, options.effort) if target.name == "host" else None
    texts: list[FunctionText] = []
    refused: dict[int, str] = {}
    for symbol, kernel in made.kernels.items():
        check("llvm")
        try:
            text = function_text(kernel, symbol, target, options.threads, options.forking)
        except NotLowerable as e:
            refused[id(kernel)] = str(e)
            continue
        if len(text.text) > MOST_TEXT:
            refused[id(kernel)] = (
                f"its LLVM IR has {len(text.text):,} characters; the limit is {MOST_TEXT:,}"
            )
            continue
        check_seconds(len(text.text) / TEXT_PER_SECOND, f"machine code for {symbol}")
        texts.append(text)
        if objects is not None and not refused:
            objects.add(text.text, text.declarations)
    return Written(thunks, made, texts, objects), refused


NO_SECTIONS: Mapping[int, tuple[Launch, int]] = {}


def _launches(
    group: Sequence[int], calls: Mapping[int, Launch], instead: Mapping[int, tuple[Launch, int]]
) -> Iterator[Launch]:
    """Yield the launches of a segment in order, with each section as one launch."""
    done = 0
    for number in group:
        if number in instead:
            launch, done = instead[number]
            yield launch
        elif number >= done:
            yield calls[number]


@dataclass(frozen=True)
class Code:
    """All functions of a program: kernels, functions of nodes with regions, and entry points."""

    written: Written
    callers: Sequence[FunctionText]
    entries: str

    @staticmethod
    def of(
        written: Written,
        callers: Sequence[FunctionText],
        calls: Mapping[int, Launch],
        groups: Sequence[tuple[int, ...]],
        is_open: bool = False,
        instead: Mapping[int, tuple[Launch, int]] = NO_SECTIONS,
    ) -> Code:
        """Build the code with one entry point per native segment, numbered in order.

        `instead` maps the number of a launch to a replacement and an end. The replacement is
        launched instead of the launches from that number to before the end.
        """
        ranges: list[tuple[int, int]] = []
        ordered: list[Launch] = []
        for group in groups:
            if group[0] in calls:
                start = len(ordered)
                ordered += _launches(group, calls, instead)
                ranges.append((start, len(ordered)))
        return Code(written, callers, entries(ordered, ranges, is_open))

    def text(self, target: Target) -> str:
        """Return the code as one module."""
        return module_of([*self.written.texts, *self.callers], self.entries, target)

    def library(self, stage: Stage, pool: ConstantPool) -> tuple[Library, Array]:
        """Return the machine code and the weights; weights are packed while LLVM compiles."""
        assert self.written.objects is not None, "machine code exists for this machine only"
        self._close(self.written.objects)
        with stage("pack weights"):
            block = pool.block()
        with stage("machine code"):
            library = self.written.objects.library()
        return library, block

    def _close(self, objects: Objects) -> None:
        kernels = (declaration(s, k) for s, k in self.written.made.kernels.items())
        needed = (d for f in self.callers for d in f.declarations)
        texts = [*(f.text for f in self.callers), self.entries]
        objects.close("\n\n".join(texts), [*kernels, *needed])


def _without_refused(thunk: Thunk, made: Functions, refused: Mapping[int, str]) -> Thunk:
    for inner in inner_thunks([thunk]):
        shared = made.kernels[made.symbol_of(inner.scheduled.kernel)]
        because = refused.get(id(shared))
        if because is not None:
            place = "" if inner is thunk else f"inside, {inner.node.output}: "
            return FallbackThunk(thunk.node, f"{place}{because}")
    return thunk


def segments(thunks: Sequence[Launchable]) -> list[tuple[int, ...]]:
    """Return the positions of nodes in each segment: adjacent native nodes, or one fallback."""
    groups: list[tuple[int, ...]] = []
    for number, thunk in enumerate(thunks):
        is_native = not isinstance(thunk, FallbackThunk)
        if groups and is_native and not isinstance(thunks[groups[-1][0]], FallbackThunk):
            groups[-1] += (number,)
        else:
            groups.append((number,))
    return groups


def _segments(
    thunks: Sequence[Launchable],
    groups: Sequence[tuple[int, ...]],
    library: Library,
    inside: Mapping[int, Bodies],
) -> Iterator[Segment]:
    n_native = 0
    for group in groups:
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
