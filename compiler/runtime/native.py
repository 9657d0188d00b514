"""From chosen works and their places to machine code: launches, segments, module, entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.codegen.module import Arg, Launch
from compiler.ir.graph import Graph
from compiler.ir.types import TensorType
from compiler.loops.nodes import Buffer, Kernel
from compiler.runtime.arrange import Arrangement
from compiler.runtime.canonical import canonical_text, symbol_name
from compiler.runtime.constants import ConstantPool, PackedConstant
from compiler.runtime.select import FallbackWork, NativeWork

Launchable = NativeWork | FallbackWork


@dataclass(frozen=True)
class Functions:
    """The different kernels of a program by symbol, and which one each native work calls."""

    kernels: Mapping[str, Kernel]
    symbols: Mapping[int, str]
    by_identity: Mapping[int, str]

    def symbol_of(self, kernel: Kernel) -> str:
        """The function that a scheduled kernel became. Errors: KeyError for another kernel."""
        return self.by_identity[id(kernel)]


def functions(works: Sequence[Launchable]) -> Functions:
    """Give each kernel a symbol; kernels that differ in names only share one."""
    kernels: dict[str, Kernel] = {}
    symbols: dict[int, str] = {}
    by_text: dict[str, str] = {}
    by_identity: dict[int, str] = {}
    taken: set[str] = {"run"}
    for number, work in enumerate(works):
        if not isinstance(work, NativeWork):
            continue
        kernel = work.scheduled.kernel
        if id(kernel) not in by_identity:
            text = canonical_text(kernel)
            if text not in by_text:
                by_text[text] = symbol_name(kernel.name, taken)
                kernels[by_text[text]] = kernel
            by_identity[id(kernel)] = by_text[text]
        symbols[number] = by_identity[id(kernel)]
    return Functions(kernels, symbols, by_identity)


def launches(
    works: Sequence[Launchable],
    graph: Graph,
    arrangement: Arrangement,
    symbols: Mapping[int, str],
    pool: ConstantPool,
) -> dict[int, Launch]:
    """The call of each native work, with the place of every parameter."""
    found: dict[int, Launch] = {}
    for number, work in enumerate(works):
        if isinstance(work, NativeWork):
            args = tuple(
                _arg(number, work, parameter, graph, arrangement, pool)
                for parameter in work.scheduled.kernel.params
            )
            found[number] = Launch(symbols[number], args)
    return found


def _arg(
    number: int,
    work: NativeWork,
    parameter: Buffer,
    graph: Graph,
    arrangement: Arrangement,
    pool: ConstantPool,
) -> Arg:
    name = parameter.name
    if parameter.role == "temporary":
        return Arg("arena", arrangement.scratch[number, name])
    value = {**work.lowered.operands, **work.lowered.results}[name]
    if parameter.role == "constant":
        wanted = PackedConstant(
            graph.constants[value], work.scheduled.packings.get(name), int(parameter.nbytes)
        )
        return Arg("constants", pool.offset_of(wanted))
    place = arrangement.places[value]
    t = graph.types[value]
    assert isinstance(t, TensorType), f"{value} is {t}"
    assert parameter.nbytes == t.nbytes, (
        f"{work.node.name}: {name} has {parameter.nbytes} bytes, {value} is {t}"
    )
    return Arg(place.space, place.offset)
