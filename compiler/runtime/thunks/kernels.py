"""Facts about each kernel of a program: its origin, operations, bytes, and loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from compiler.compute.computation import Computation
from compiler.dataclass import dataclass
from compiler.ir.graph import Graph, Node
from compiler.loops.nodes import Kernel
from compiler.ops.control_flow.loop_form import LoopForm, loop_form
from compiler.passes.engine.cost import reported_cost
from compiler.runtime.thunks.native import Launchable
from compiler.runtime.thunks.select import FallbackThunk, NativeThunk, RegionThunk, Unlaunched


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """One launch of a program, or one node that the reference implementation runs.

    A view whose size is known only at run time counts as native, since nothing is computed.

    `symbol` names the generated function, which equal kernels share. `because` is the reason for a
    fallback. `reads` and `writes` are value names of the compiled graph or, for a kernel in a
    region, of the region. For a kernel in a region, `inside` names the launched kernel of the
    surrounding node. `constants` are operands known at compile time. Units: operations and bytes of
    one run.
    """

    name: str
    op: str
    origins: tuple[str, ...]
    native: bool
    flops: int
    bytes_read: int
    bytes_written: int
    symbol: str = ""
    because: str = ""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    computation: Computation | None = None
    loops: Kernel | None = None
    moves: tuple[str, ...] = ()
    inside: str = ""
    constants: frozenset[str] = frozenset()


NONE: Mapping[int, str] = {}


@dataclass(frozen=True, slots=True)
class Listed:
    """A node's implementation and graph, its executions per run, and its outer node's number."""

    thunk: Launchable
    graph: Graph
    times: int = 1
    around: int | None = None


def kernel_infos(
    thunks: Sequence[Launchable],
    graph: Graph,
    symbols: Mapping[int, str],
    loops: Mapping[str, Kernel],
    inside: Mapping[int, str] = NONE,
) -> tuple[KernelInfo, ...]:
    """Return one entry per launch, then entries for kernels in regions, with unique names.

    `symbols` has the function of each native launch; `inside` has the function of each kernel, by
    the kernel's identity.

    The operations and bytes of a kernel in a loop are those of one step, multiplied by the trip
    count if known. The kernels of all branches are listed. For the node with regions, only the
    bytes of its operands and results are counted.
    """
    all_of_them = listed(thunks, graph)
    names = unique_names([x.thunk for x in all_of_them])
    found: list[KernelInfo] = []
    for number, (x, name) in enumerate(zip(all_of_them, names, strict=True)):
        symbol = symbols.get(number, "")
        if x.around is not None and isinstance(x.thunk, NativeThunk):
            symbol = inside[id(x.thunk.scheduled.kernel)]
        found.append(_info(x, name, symbol, names, loops))
    return tuple(found)


def listed(thunks: Sequence[Launchable], graph: Graph) -> list[Listed]:
    """Return a graph's implementations, followed by implementations inside nodes with regions."""
    found = [Listed(w, graph) for w in thunks]
    for number, one in enumerate(found):  # the loop body appends nested implementations
        if isinstance(one.thunk, RegionThunk):
            found += _inside(number, one, one.thunk)
    return found


def inner_infos(kernels: Sequence[KernelInfo], around: str, key: str) -> Iterator[KernelInfo]:
    """Yield the kernels of a region that a fallback runs, with qualified names.

    The symbols of these kernels are empty, since their functions belong to another module.
    """
    for k in kernels:
        inside = f"{around}.{key}.{k.inside}" if k.inside else around
        yield replace(k, name=f"{around}.{key}.{k.name}", symbol="", inside=inside)


def _inside(number: int, around: Listed, thunk: RegionThunk) -> Iterator[Listed]:
    times = around.times * n_steps(thunk.node, around.graph)
    for body in thunk.bodies.values():
        for inner in body.thunks:
            if not isinstance(inner, Unlaunched):
                yield Listed(inner, body.graph, times, number)


def n_steps(node: Node, graph: Graph) -> int:
    """Return the number of executions of a node's regions in one run; 1 if it is unknown."""
    if node.op not in ("onnx.Loop", "onnx.Scan"):
        return 1
    form = loop_form(node, graph)
    steps = form.n_steps if isinstance(form, LoopForm) else None
    return 1 if steps is None else steps


def _info(
    x: Listed, name: str, symbol: str, names: Sequence[str], loops: Mapping[str, Kernel]
) -> KernelInfo:
    thunk, node = x.thunk, x.thunk.node
    cost = reported_cost(node, x.graph.types)
    native = thunk if isinstance(thunk, NativeThunk) else None
    fallback = thunk if isinstance(thunk, FallbackThunk) and not thunk.is_view else None
    return KernelInfo(
        name,
        node.op,
        node.origins,
        fallback is None,
        cost.flops * x.times,
        cost.bytes_read * x.times,
        cost.bytes_written * x.times,
        symbol,
        fallback.because if fallback else "",
        node.reads,
        tuple(filter(None, node.outputs)),
        native.lowered.computation if native else None,
        loops.get(symbol) if native else None,
        native.scheduled.moves if native else (),
        "" if x.around is None else names[x.around],
        _constants(native, x.graph) if native else frozenset(),
    )


def _constants(thunk: NativeThunk, graph: Graph) -> frozenset[str]:
    return frozenset(t for t, v in thunk.lowered.operands.items() if v in graph.constants)


def unique_names(thunks: Sequence[Launchable]) -> list[str]:
    """Return kernel names: the names of the kernel's operators, with a number if not unique."""
    labels = [
        w.lowered.computation.name if isinstance(w, NativeThunk) else w.node.op for w in thunks
    ]
    totals = {label: labels.count(label) for label in set(labels)}
    taken = set(labels)
    seen: dict[str, int] = {}
    names: list[str] = []
    for label in labels:
        name = label
        while totals[label] > 1 and (name == label or name in taken):
            seen[label] = seen.get(label, 0) + 1
            name = f"{label}_{seen[label]}"
        taken.add(name)
        names.append(name)
    return names
