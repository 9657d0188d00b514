"""Generation of launches, segments, module and entry points from nodes and places of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from compiler.codegen.llvm import FunctionText
from compiler.codegen.module import Arg, Launch
from compiler.codegen.regions import Number
from compiler.dataclass import dataclass
from compiler.ir.affine import Expr
from compiler.ir.graph import Graph
from compiler.ir.types import TensorType
from compiler.loops.nodes import Buffer, Kernel
from compiler.runtime.thunks.arrange import REGION, Arrangement
from compiler.runtime.thunks.canonical import canonical_text, symbol_name
from compiler.runtime.thunks.constants import ConstantPool, PackedConstant
from compiler.runtime.thunks.regions import RegionPlan, RegionWriter
from compiler.runtime.thunks.select import (
    FallbackThunk,
    NativeThunk,
    RegionThunk,
    Thunk,
    Unlaunched,
    inner_thunks,
)

Launchable = NativeThunk | RegionThunk | FallbackThunk


@dataclass(frozen=True)
class Functions:
    """The distinct kernels of a program by symbol, and the symbol of each native launch."""

    kernels: Mapping[str, Kernel]
    symbols: Mapping[int, str]
    by_identity: Mapping[int, str]

    def symbol_of(self, kernel: Kernel) -> str:
        """Return the symbol of a scheduled kernel. Errors: KeyError for an unknown kernel."""
        return self.by_identity[id(kernel)]


def functions(thunks: Sequence[Thunk]) -> Functions:
    """Assign a symbol to each kernel; kernels that differ only in names share a symbol."""
    kernels: dict[str, Kernel] = {}
    by_text: dict[str, str] = {}
    by_identity: dict[int, str] = {}
    taken: set[str] = {"run"}
    for thunk in inner_thunks(thunks):
        kernel = thunk.scheduled.kernel
        if id(kernel) not in by_identity:
            text = canonical_text(kernel)
            if text not in by_text:
                by_text[text] = symbol_name(kernel.name, taken)
                kernels[by_text[text]] = kernel
            by_identity[id(kernel)] = by_text[text]
    launched = [w for w in thunks if not isinstance(w, Unlaunched)]
    symbols = {
        number: by_identity[id(w.scheduled.kernel)]
        for number, w in enumerate(launched)
        if isinstance(w, NativeThunk)
    }
    return Functions(kernels, symbols, by_identity)


@dataclass(frozen=True)
class Calls:
    """The native calls of a program by launch number, and the functions of nodes with regions."""

    launches: Mapping[int, Launch]
    texts: Sequence[FunctionText]


def calls(
    thunks: Sequence[Launchable],
    graph: Graph,
    arrangement: Arrangement,
    made: Functions,
    pool: ConstantPool,
) -> Calls:
    """Return the call of each native node, with the place of each parameter."""
    writer = RegionWriter({"run", *made.kernels}, pool, [])
    caller = _Caller(made, pool, writer, graph, arrangement)
    return Calls(dict(caller.launches(thunks)), writer.texts)


@dataclass(frozen=True)
class _Caller:
    """Creates the calls of a graph's native nodes; the graph may be the body of a region."""

    made: Functions
    pool: ConstantPool
    writer: RegionWriter
    graph: Graph
    arrangement: Arrangement

    def launches(self, thunks: Sequence[Launchable]) -> Iterator[tuple[int, Launch]]:
        for number, thunk in enumerate(thunks):
            if isinstance(thunk, NativeThunk):
                kernel = thunk.scheduled.kernel
                args = [self._arg(number, thunk, p) for p in kernel.params]
                yield number, Launch(self.made.symbol_of(kernel), tuple(args))
            elif isinstance(thunk, RegionThunk):
                yield number, self._region(number, thunk)

    def _region(self, number: int, thunk: RegionThunk) -> Launch:
        plan = self.arrangement.regions[number]
        symbol = self.writer.write(plan, self.graph, _Known(self, plan))
        memory = Arg("arena", self.arrangement.scratch[number, REGION])
        values = [*thunk.operands, *filter(None, thunk.node.outputs)]
        places = (self._plain(v) for v in values)
        return Launch(symbol, (memory, Arg("constants", 0), *places))

    def _plain(self, value: str) -> Arg:
        constant = self.graph.constants.get(value)
        if constant is None:
            place = self.arrangement.places[value]
            return Arg(place.space, place.offset)
        wanted = PackedConstant(constant, None, constant.type.nbytes)
        return Arg("constants", self.pool.offset_of(wanted))

    def _arg(self, number: int, thunk: NativeThunk, parameter: Buffer) -> Arg:
        name = parameter.name
        if parameter.role == "temporary":
            return Arg("arena", self.arrangement.scratch[number, name])
        value = {**thunk.lowered.operands, **thunk.lowered.results}[name]
        if parameter.role == "constant":
            wanted = PackedConstant(
                self.graph.constants[value],
                thunk.scheduled.packings.get(name),
                int(parameter.nbytes),
            )
            return Arg("constants", self.pool.offset_of(wanted))
        place = self.arrangement.places[value]
        t = self.graph.types[value]
        assert isinstance(t, TensorType), f"{value} is {t}"
        assert parameter.nbytes == t.nbytes, (
            f"{thunk.node.name}: {name} has {parameter.nbytes} bytes, {value} is {t}"
        )
        return Arg(place.space, place.offset)


@dataclass(frozen=True)
class _Known:
    """The calls, places and numbers of one region's functions in a program of known sizes."""

    caller: _Caller
    plan: RegionPlan
    is_open: bool = False

    def launches(self, key: str) -> list[Launch]:
        body = self.plan.thunk.bodies[key]
        caller = replace(self.caller, graph=body.graph, arrangement=self.plan.bodies[key])
        return [launch for _, launch in caller.launches(body.launches())]

    def place(self, key: str, value: str) -> Arg:
        place = self.plan.bodies[key].places[value]
        return Arg(place.space, place.offset)

    def memory(self, name: str) -> Number:
        return self.plan.offsets[name]

    def number(self, e: Expr) -> Number:
        assert isinstance(e, int), f"{e} depends on sizes"
        return e
