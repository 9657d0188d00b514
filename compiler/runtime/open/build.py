"""Compilation of one program for all sizes, or the reason why no such program is built."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from compiler.codegen.jit import Library
from compiler.codegen.module import Launch
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.affine import ASSUMED_SIZE
from compiler.ir.graph import Graph, Node, all_nodes
from compiler.ir.infer import specialize
from compiler.ir.types import Dim, TensorType, Type, open_symbols
from compiler.runtime.assumed import assumed_shapes
from compiler.runtime.built import Built
from compiler.runtime.code import Code, Stage, segments, written_functions
from compiler.runtime.open.cut import HostNode, cut
from compiler.runtime.open.infos import host_info, joined_infos, joined_plans, part_infos
from compiler.runtime.open.part import OpenPart
from compiler.runtime.open.program import OpenProgram
from compiler.runtime.open.select import OpenSelector
from compiler.runtime.open.sizes import inferred_sizes, input_symbols
from compiler.runtime.thunks.constants import ConstantPool
from compiler.runtime.thunks.regions import RegionWriter
from compiler.runtime.thunks.select import FallbackThunk, Selector, Thunk
from compiler.runtime.thunks.user_schedules import UserSchedules
from compiler.targets.options import CodeOptions


class NotOpen(Exception):
    """Raised, with the reason, if no program for all sizes is built."""


def build_open(graph: Graph, options: CodeOptions, stage: Stage) -> OpenProgram:
    """Compile a program that receives its sizes at run time; `graph` is the optimised model.

    Errors: NotOpen if a node has code for known sizes only.
    """
    target = options.target
    with stage("loops"):
        choice = choose_open(graph, options)
    shapes, inferred = choice.shapes, choice.inferred
    pieces, chosen = choice.pieces, _with_user_schedules(choice, options)
    with stage("llvm"):
        flat = [w for thunks in chosen for w in thunks or ()]
        written = written_functions(flat, options)
        flat, made = written.thunks, written.made
    steps: list[OpenPart | HostNode] = []
    at = first = 0
    for piece, thunks in zip(pieces, chosen, strict=True):
        if isinstance(piece, HostNode):
            steps.append(piece)
            continue
        part = OpenPart.of(piece, flat[at : at + len(thunks or ())], first)
        at, first = at + len(part.thunks), first + len(part.launched)
        steps.append(part)
    parts = [s for s in steps if isinstance(s, OpenPart)]
    with stage("memory"):
        pool = ConstantPool()
        writer = RegionWriter({"run", *made.kernels}, pool, [])
        sizes = _sample(graph, shapes)
        samples = [part.sized(sizes) for part in parts]
        calls: dict[int, Launch] = {}
        for part, sample in zip(parts, samples, strict=True):
            calls.update(part.launches(made, pool, writer, sample))
    groups = [segments(p.launched) for p in parts]
    numbered = [
        tuple(p.first + i for i in g) for p, gs in zip(parts, groups, strict=True) for g in gs
    ]
    code = Code.of(written, writer.texts, calls, numbered, is_open=True)
    found = iter(samples)
    infos = joined_infos(
        host_info(s.node) if isinstance(s, HostNode) else part_infos(s, next(found), calls, made)
        for s in steps
    )
    built = Built(
        graph,
        None,
        target,
        kernels=infos,
        plan=joined_plans([s.arrangement.plan for s in samples]),
        functions=made.kernels,
        launches=calls,
        llvm=code.text(target),
        weight_bytes=pool.nbytes,
        is_compiled=True,
        threads=options.threads,
    )
    program = OpenProgram(graph, steps, built, options, functions=made, inferred=inferred)
    if target.name != "host":
        return program
    library, block = code.library(stage, pool)
    return replace(
        program,
        library=library,
        constants=block,
        entries=tuple(_entries(steps, library)),
        built=replace(built, library=library),
    )


def _with_user_schedules(choice: OpenChoice, options: CodeOptions) -> list[list[Thunk] | None]:
    """Return the implementations in all parts, with user schedules. Errors: E-SCHEDULE-*."""
    found: list[list[Thunk] | None] = []
    user_schedules, is_one = UserSchedules(options), len(choice.pieces) == 1
    for number, (piece, thunks) in enumerate(zip(choice.pieces, choice.thunks, strict=True)):
        if thunks is not None and isinstance(piece, Graph):
            thunks = user_schedules.applied(thunks, piece, "" if is_one else f".{number}")
        found.append(thunks)
    user_schedules.finish()
    return found


@dataclass(frozen=True)
class OpenChoice:
    """For each part, the implementations of its nodes with open sizes; None for a host node.

    `shapes` are the assumed input shapes of a trial. `inferred` are the symbols that type rules
    derive from these shapes.
    """

    pieces: Sequence[Graph | HostNode]
    thunks: Sequence[list[Thunk] | None]
    shapes: Mapping[str, tuple[int, ...]] | None
    inferred: frozenset[str]


def choose_open(graph: Graph, options: CodeOptions) -> OpenChoice:
    """Choose implementations without generating code. Errors: NotOpen, as for `build_open`."""
    shapes, inferred = _check_inputs(graph)
    pieces = cut(graph, input_symbols(graph) | inferred)
    thunks = [_thunks(p, options) if isinstance(p, Graph) else None for p in pieces]
    _require_no_loss(graph, shapes, options, thunks)
    return OpenChoice(pieces, thunks, shapes, inferred)


def _thunks(graph: Graph, options: CodeOptions) -> list[Thunk]:
    return list(OpenSelector(graph, options).thunks())


def _entries(steps: Sequence[OpenPart | HostNode], library: Library) -> Iterator[tuple]:  # type: ignore[type-arg]
    """Yield, for each part, the code of each group of launches; None for a fallback node."""
    n_native = 0
    for step in steps:
        found = []
        for group in segments(step.launched) if isinstance(step, OpenPart) else ():
            assert isinstance(step, OpenPart), "only parts have launches"
            entry = None
            if not isinstance(step.launched[group[0]], FallbackThunk):
                entry = library.function(f"run_{n_native}", 5)
                n_native += 1
            found.append((entry, group))
        yield tuple(found)


def _all_symbols(graph: Graph) -> frozenset[str]:
    return open_symbols(
        [*(v.type for v in graph.inputs), *(t for n in graph.nodes for t in n.types)]
    )


LARGEST_SAMPLE = 1 << 14
"""Largest size tried in the search for sizes that a model permits."""

_TRIED = (*range(17), *(1 << k for k in range(5, 15)))
"""Sizes tried for each symbol: windows need large sizes, and slices from the end small ones."""


def _sample(graph: Graph, shapes: Mapping[str, Sequence[int]] | None) -> dict[str, int]:
    """Return sizes for an example plan: the assumed input sizes, or one size for all symbols.

    Sizes that make a dimension of a value negative are replaced. Errors: NotOpen if the search
    finds no replacement.
    """
    size = ASSUMED_SIZE
    sample = dict.fromkeys(_all_symbols(graph), size)
    if shapes is not None:
        sample.update(inferred_sizes(graph, shapes))
        sample.update(_assumed_inputs(graph, shapes))
    types = [t for n in all_nodes(graph) for t in n.types if isinstance(t, TensorType) and t.shape]
    dims = {d for t in types for d in t.dims if not isinstance(d, int)}
    while size < LARGEST_SAMPLE and _n_negative(dims, sample):
        size *= 2
        sample = dict.fromkeys(sample, size)
    return sample if not _n_negative(dims, sample) else _searched(dims, sorted(sample))


def _searched(dims: Collection[Dim], names: Sequence[str]) -> dict[str, int]:
    """Change one symbol after another, each to the size with the fewest negative dimensions."""
    found = dict.fromkeys(names, ASSUMED_SIZE)
    for name in names:
        tries = [{**found, name: n} for n in (found[name], *_TRIED)]
        found = min(tries, key=lambda sizes: _n_negative(dims, sizes))
        if not _n_negative(dims, found):
            return found
    raise NotOpen("the search found no sizes for which all dimensions are nonnegative")


def _n_negative(dims: Iterable[Dim], sizes: Mapping[str, int]) -> int:
    return sum(_is_negative(d, sizes) for d in dims)


def _is_negative(d: Dim, sizes: Mapping[str, int]) -> bool:
    value = affine.substitute(d, sizes)
    return isinstance(value, int) and value < 0


def _assumed_inputs(graph: Graph, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Return the values of the inputs' size symbols for these shapes."""
    found: dict[str, int] = {}
    for v in graph.inputs:
        if v.name in shapes and isinstance(v.type, TensorType):
            for d, n in zip(v.type.dims, shapes[v.name], strict=True):
                found.update((s, n) for s in open_symbols([TensorType(v.type.dtype, (d,))]))
    return found


def _check_inputs(graph: Graph) -> tuple[dict[str, tuple[int, ...]] | None, frozenset[str]]:
    """Return assumed input shapes, and the symbols that type rules derive from them.

    None if no shapes can be assumed. Errors: NotOpen if the rank of an input is open, or if the
    shapes of the inputs do not determine a size symbol.
    """
    known = input_symbols(graph)
    for v in graph.inputs:
        if isinstance(v.type, TensorType):
            if v.type.shape is None:
                raise NotOpen(f"the rank of the input {v.name} is open")
            strays = open_symbols([v.type]) - known
            if strays:
                raise NotOpen(
                    f"the input {v.name}: {v.type} does not determine {', '.join(sorted(strays))}"
                )
    try:
        shapes = assumed_shapes(graph)
        found = inferred_sizes(graph, shapes)
    except CompileError:
        return None, frozenset()  # the model does not allow the assumed sizes
    return shapes, frozenset(found) - known


def _require_no_loss(
    graph: Graph,
    shapes: Mapping[str, Sequence[int]] | None,
    options: CodeOptions,
    chosen: Iterable[list[Thunk] | None],
) -> None:
    """Check that no node becomes a fallback because of open sizes. Errors: NotOpen."""
    refused = {
        w.node.output: w
        for thunks in chosen
        for w in thunks or ()
        if isinstance(w, FallbackThunk) and (w.node.regions or _is_open(w.node, graph))
    }
    if not refused:
        return
    if shapes is None:
        node = next(iter(refused.values()))
        raise NotOpen(f"{node.node.name or node.node.output}: {node.because}")
    fixed = specialize(graph, shapes)
    selector = Selector(fixed, options)
    for node in fixed.nodes:
        thunk = refused.get(node.output)
        if thunk is not None and not isinstance(selector.thunk(node), FallbackThunk):
            raise NotOpen(f"{node.name or node.output}: {thunk.because}")


def _is_open(node: Node, graph: Graph) -> bool:
    types: list[Type] = [*(graph.types[i] for i in node.reads), *node.types]
    return any(not isinstance(t, TensorType) or not t.is_static for t in types)
