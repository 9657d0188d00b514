"""What is known about each kernel of a program: where it came from, its work, its loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compiler.compute.computation import Computation
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS, Cost
from compiler.ir.types import TensorType, Type
from compiler.loops.nodes import Kernel
from compiler.runtime.select import FallbackWork, NativeWork, in_memory


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """One launch of a program, or one node that the reference implementation runs.

    `symbol` names the generated function; equal kernels share one. `because` says why a fallback is
    one. `reads` and `writes` are value names of the compiled graph.
    Units: operations and bytes of one run.
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


def kernel_infos(
    works: Sequence[NativeWork | FallbackWork],
    graph: Graph,
    symbols: Mapping[int, str],
    loops: Mapping[str, Kernel],
) -> tuple[KernelInfo, ...]:
    """One entry per launch, with unique names. `symbols` has the function of each native launch."""
    names = _unique_names(works)
    found: list[KernelInfo] = []
    for number, (work, name) in enumerate(zip(works, names, strict=True)):
        node = work.node
        cost = node_cost(node, graph.types)
        native = isinstance(work, NativeWork)
        symbol = symbols.get(number, "")
        found.append(
            KernelInfo(
                name,
                node.op,
                node.origins,
                native,
                cost.flops,
                cost.bytes_read,
                cost.bytes_written,
                symbol,
                "" if isinstance(work, NativeWork) else work.because,
                node.reads,
                tuple(filter(None, node.outputs)),
                work.lowered.computation if isinstance(work, NativeWork) else None,
                loops.get(symbol),
                work.scheduled.moves if isinstance(work, NativeWork) else (),
            )
        )
    return tuple(found)


def _unique_names(works: Sequence[NativeWork | FallbackWork]) -> list[str]:
    """What the kernels are called: the operators inside, numbered where that is not unique."""
    labels = [w.lowered.computation.name if isinstance(w, NativeWork) else w.node.op for w in works]
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


def node_cost(node: Node, types: Mapping[str, Type]) -> Cost:
    """The work of a node: its operators' flops, and the bytes that cross its border.

    Values inside a fusion stay in registers or caches and do not count as traffic.
    """
    body = node.regions.get("body") if node.op == "fusion" else None
    if body is None:
        own = _operator_cost(node, types)
        if own is not None:
            return own
    flops = sum(c.flops for c in _inner_costs(body)) if body is not None else 0
    reads = [types[i] for i in dict.fromkeys(node.reads) if i in types]
    return Cost(flops, sum(map(_nbytes, reads)), sum(_nbytes(v.type) for v in node.values()))


def _inner_costs(body: Graph) -> Iterator[Cost]:
    for inner in body.nodes:
        found = _operator_cost(inner, body.types)
        if found is not None:
            yield found


def _operator_cost(node: Node, types: Mapping[str, Type]) -> Cost | None:
    """What the operator's cost facet says; None for open shapes and operators without one."""
    operator = OPERATORS.get(node.op)
    operands = [types.get(i) if i else None for i in node.inputs]
    known = [t for t in (*operands, *(v.type for v in node.values())) if t is not None]
    if operator is None or operator.cost_fn is None or not all(map(in_memory, known)):
        return None
    outputs = tuple(t for t in node.types)
    return operator.cost_fn(
        *operands, out=outputs[0] if len(outputs) == 1 else outputs, **node.attrs
    )


def _nbytes(t: Type) -> int:
    return t.nbytes if isinstance(t, TensorType) and in_memory(t) else 0
