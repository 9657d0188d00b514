"""Generation of launches, segments, module and entry points from nodes and places of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compiler.codegen.llvm import FunctionText
from compiler.codegen.module import Arg, Launch
from compiler.codegen.regions import Number
from compiler.dataclass import dataclass
from compiler.ir.affine import Expr
from compiler.ir.graph import Graph
from compiler.ir.types import TensorType
from compiler.loops.nodes import Buffer, Kernel
from compiler.runtime.works.arrange import REGION, Arrangement
from compiler.runtime.works.canonical import canonical_text, symbol_name
from compiler.runtime.works.constants import ConstantPool, PackedConstant
from compiler.runtime.works.regions import RegionPlan, RegionWriter
from compiler.runtime.works.select import (
    FallbackWork,
    NativeWork,
    RegionWork,
    Unlaunched,
    Work,
    inner_works,
)

Launchable = NativeWork | RegionWork | FallbackWork


@dataclass(frozen=True)
class Functions:
    """The distinct kernels of a program by symbol, and the symbol of each native launch."""

    kernels: Mapping[str, Kernel]
    symbols: Mapping[int, str]
    by_identity: Mapping[int, str]

    def symbol_of(self, kernel: Kernel) -> str:
        """Return the symbol of a scheduled kernel. Errors: KeyError for an unknown kernel."""
        return self.by_identity[id(kernel)]


def functions(works: Sequence[Work]) -> Functions:
    """Assign a symbol to each kernel; kernels that differ in names only share a symbol."""
    kernels: dict[str, Kernel] = {}
    by_text: dict[str, str] = {}
    by_identity: dict[int, str] = {}
    taken: set[str] = {"run"}
    for work in inner_works(works):
        kernel = work.scheduled.kernel
        if id(kernel) not in by_identity:
            text = canonical_text(kernel)
            if text not in by_text:
                by_text[text] = symbol_name(kernel.name, taken)
                kernels[by_text[text]] = kernel
            by_identity[id(kernel)] = by_text[text]
    launched = [w for w in works if not isinstance(w, Unlaunched)]
    symbols = {
        number: by_identity[id(w.scheduled.kernel)]
        for number, w in enumerate(launched)
        if isinstance(w, NativeWork)
    }
    return Functions(kernels, symbols, by_identity)


@dataclass(frozen=True)
class Calls:
    """The native calls of a program by launch number, and the functions of nodes with regions."""

    launches: Mapping[int, Launch]
    texts: Sequence[FunctionText]


def calls(
    works: Sequence[Launchable],
    graph: Graph,
    arrangement: Arrangement,
    made: Functions,
    pool: ConstantPool,
) -> Calls:
    """Return the call of each native node, with the place of each parameter."""
    caller = _Caller(made, pool)
    return Calls(dict(caller.launches(works, graph, arrangement)), caller.writer.texts)


class _Caller:
    """Creates the calls of native nodes, including nodes inside regions."""

    def __init__(self, made: Functions, pool: ConstantPool) -> None:
        self.made = made
        self.pool = pool
        self.writer = RegionWriter({"run", *made.kernels}, pool, [])

    def launches(
        self, works: Sequence[Launchable], graph: Graph, arrangement: Arrangement
    ) -> Iterator[tuple[int, Launch]]:
        for number, work in enumerate(works):
            if isinstance(work, NativeWork):
                kernel = work.scheduled.kernel
                args = [self._arg(number, work, p, graph, arrangement) for p in kernel.params]
                yield number, Launch(self.made.symbol_of(kernel), tuple(args))
            elif isinstance(work, RegionWork):
                yield number, self._region(number, work, graph, arrangement)

    def _region(
        self, number: int, work: RegionWork, graph: Graph, arrangement: Arrangement
    ) -> Launch:
        plan = arrangement.regions[number]
        symbol = self.writer.write(plan, graph, _Known(self, plan))
        memory = Arg("arena", arrangement.scratch[number, REGION])
        values = [*work.operands, *filter(None, work.node.outputs)]
        places = (self._plain(v, graph, arrangement) for v in values)
        return Launch(symbol, (memory, Arg("constants", 0), *places))

    def _plain(self, value: str, graph: Graph, arrangement: Arrangement) -> Arg:
        constant = graph.constants.get(value)
        if constant is None:
            return Arg(arrangement.places[value].space, arrangement.places[value].offset)
        wanted = PackedConstant(constant, None, constant.type.nbytes)
        return Arg("constants", self.pool.offset_of(wanted))

    def _arg(
        self,
        number: int,
        work: NativeWork,
        parameter: Buffer,
        graph: Graph,
        arrangement: Arrangement,
    ) -> Arg:
        name = parameter.name
        if parameter.role == "temporary":
            return Arg("arena", arrangement.scratch[number, name])
        value = {**work.lowered.operands, **work.lowered.results}[name]
        if parameter.role == "constant":
            wanted = PackedConstant(
                graph.constants[value], work.scheduled.packings.get(name), int(parameter.nbytes)
            )
            return Arg("constants", self.pool.offset_of(wanted))
        place = arrangement.places[value]
        t = graph.types[value]
        assert isinstance(t, TensorType), f"{value} is {t}"
        assert parameter.nbytes == t.nbytes, (
            f"{work.node.name}: {name} has {parameter.nbytes} bytes, {value} is {t}"
        )
        return Arg(place.space, place.offset)


@dataclass(frozen=True)
class _Known:
    """The arguments of one region's functions in a program of known sizes."""

    caller: _Caller
    plan: RegionPlan
    is_open: bool = False

    def launches(self, key: str) -> list[Launch]:
        body = self.plan.work.bodies[key]
        made = self.caller.launches(body.launches(), body.graph, self.plan.bodies[key])
        return [launch for _, launch in made]

    def place(self, key: str, value: str) -> Arg:
        place = self.plan.bodies[key].places[value]
        return Arg(place.space, place.offset)

    def memory(self, name: str) -> Number:
        return self.plan.offsets[name]

    def number(self, e: Expr) -> Number:
        assert isinstance(e, int), f"{e} depends on sizes"
        return e
