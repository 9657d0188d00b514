"""LLVM functions for control flow, which call the kernels of the nodes' regions.

A region becomes a body function, `void body(ptr arena, ptr constants, ptr* inputs, ptr* outputs)`,
like a program's entry point. The node's function passes tables of pointers to a body. The function
of an If calls the body of one branch, once. The function of a loop calls the body in every step.
The params of the node's function are its arena, the packed constants, then operands and results. In
code for open sizes, both functions also take a pointer to the run's table. Numbers that depend on
sizes are entries (slots) of this table.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.codegen.module import Arg, Launch, entry_lines, from_table
from compiler.dataclass import dataclass

COPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
NO_LIMIT = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Slot:
    """A number at the given position of a run's table."""

    position: int


Number = int | Slot


@dataclass(frozen=True, slots=True)
class Copied:
    """A result that is a copy of another value; no kernel stores this result. Units: bytes."""

    position: int
    source: Arg
    nbytes: Number


def body_text(
    symbol: str, launches: Sequence[Launch], copies: Sequence[Copied], *, is_open: bool = False
) -> str:
    """Emit the function of a body: its kernels in order, then copies of results."""
    lines, known = entry_lines(symbol, launches, [c.source for c in copies], is_open=is_open)
    for c in copies:
        target = f"%r{c.position}"
        lines += [
            f"  {target}.at = getelementptr ptr, ptr %outputs, i64 {c.position}",
            f"  {target} = load ptr, ptr {target}.at",
        ]
        nbytes: int | str = f"{target}.bytes"
        if isinstance(c.nbytes, Slot):
            lines += from_table(f"{target}.bytes", c.nbytes.position)
        else:
            nbytes = c.nbytes
        lines.append(_copy(target, known[c.source], nbytes))
    return "\n".join([*lines, "  ret void", "}"])


def _copy(target: str, source: str, nbytes: int | str) -> str:
    return f"  call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {nbytes}, i1 false)"


@dataclass(frozen=True, slots=True)
class Param:
    """A pointer param of a node's function; `number` counts params after arena and constants."""

    number: int


@dataclass(frozen=True, slots=True)
class Scratch:
    """Private memory of the function, at an offset in the function's arena. Units: bytes."""

    offset: Number


Pointer = Param | Scratch


@dataclass(frozen=True, slots=True)
class CallText:
    """One call of a body: its function, and the entries of its input and output tables."""

    symbol: str
    inputs: tuple[Pointer, ...]
    outputs: tuple[Pointer, ...]


def call_function(symbol: str, n_params: int, call: CallText, *, is_open: bool = False) -> str:
    """Emit the function of a composition; the function calls the body once."""
    w = _Writer(symbol, n_params, is_open)
    w.tables(call, "")
    w.lines += [*w.call(call, ""), "  ret void", "}"]
    return w.text()


def branch_function(
    symbol: str,
    n_params: int,
    condition: Param,
    then: CallText,
    otherwise: CallText,
    *,
    is_open: bool = False,
) -> str:
    """Emit the function of an If."""
    w = _Writer(symbol, n_params, is_open)
    for call, name in ((then, "then"), (otherwise, "else")):
        w.tables(call, name)
    w.lines += [
        f"  %flag = load i8, ptr {w.pointer(condition)}",
        "  %holds = icmp ne i8 %flag, 0",
        "  br i1 %holds, label %then, label %else",
        "then:",
        *w.call(then, "then"),
        "  ret void",
        "else:",
        *w.call(otherwise, "else"),
        "  ret void",
        "}",
    ]
    return w.text()


@dataclass(frozen=True, slots=True)
class Counter:
    """The index of the current step: an i64 in the function's arena, which the body reads."""

    offset: Number


@dataclass(frozen=True, slots=True)
class Carried:
    """A loop state whose initial value is at `start`; steps alternate between two buffers.

    Each step reads one of the buffers and writes the other buffer. `final` is the buffer of the
    last value; `spare` is the other buffer. A state that `stays` never changes; a state of 0 bytes
    is not copied to its final buffer.
    Units: bytes.
    """

    start: Pointer
    final: Pointer
    spare: Pointer
    nbytes: Number
    stays: bool = False


@dataclass(frozen=True, slots=True)
class Moving:
    """An address that moves by `stride` bytes per step, backward if `is_reversed`."""

    base: Pointer
    stride: Number
    is_reversed: bool


@dataclass(frozen=True, slots=True)
class StateOf:
    """The address of state `number` in the current step."""

    number: int


Source = Pointer | Counter | Moving | StateOf


@dataclass(frozen=True, slots=True)
class LoopText:
    """A loop of at most `trip` steps (None for no limit) that ends when the state `going` is false.

    `inputs` and `outputs` are the entries of the body's tables. A `StateOf` in `outputs` is the new
    value of its state. `truth`, if given, is a bool initialised to true.
    """

    body: str
    trip: Number | Param | None
    going: int | None
    states: tuple[Carried, ...]
    inputs: tuple[Source, ...]
    outputs: tuple[Source, ...]
    truth: Scratch | None = None


def loop_function(symbol: str, n_params: int, loop: LoopText, *, is_open: bool = False) -> str:
    """Emit the function of a Loop or Scan.

    States alternate between two buffers (double buffering), so steps copy nothing. If the trip
    count is known before the first step, the last step writes the final buffers; otherwise copies
    may follow the loop.
    """
    w = _Writer(symbol, n_params, is_open)
    w.loop(loop)
    return w.text()


class _Writer:
    """Emits one function."""

    def __init__(self, symbol: str, n_params: int, is_open: bool) -> None:
        names = ["arena", "constants", *(f"p{i}" for i in range(n_params))]
        params = ", ".join(f"ptr %{n}" for n in (*names, *(("table",) if is_open else ())))
        self.lines = [f'define void @"{symbol}"({params}) nounwind {{', "entry:"]
        self.is_open = is_open
        self._scratch: dict[Number, str] = {}
        self._numbers: dict[Slot, str] = {}

    def text(self) -> str:
        return "\n".join(self.lines)

    def pointer(self, p: Pointer) -> str:
        """Emit a pointer; each pointer into the arena is emitted once, in the entry block."""
        if isinstance(p, Param):
            return f"%p{p.number}"
        if p.offset not in self._scratch:
            by = self.number(p.offset)
            name = f"%m{by.removeprefix('%')}"
            self._scratch[p.offset] = name
            self.lines.append(f"  {name} = getelementptr i8, ptr %arena, i64 {by}")
        return self._scratch[p.offset]

    def number(self, n: Number) -> str:
        """Emit a number; each number in the table is loaded once, in the entry block."""
        if isinstance(n, int):
            return str(n)
        if n not in self._numbers:
            self._numbers[n] = f"%t{n.position}"
            self.lines += from_table(self._numbers[n], n.position)
        return self._numbers[n]

    def slots(self, name: str, n: int) -> None:
        """Allocate a table of pointers on the stack, and compute the addresses of its entries."""
        self.lines.append(f"  {name} = alloca [{max(n, 1)} x ptr]")
        self.lines += [f"  {name}.{i} = getelementptr ptr, ptr {name}, i64 {i}" for i in range(n)]

    def tables(self, call: CallText, name: str) -> None:
        """Emit the tables of pointers that all calls of a body function share."""
        for kind, pointers in (("in", call.inputs), ("out", call.outputs)):
            table = f"%{kind}{name}"
            self.slots(table, len(pointers))
            for i, p in enumerate(pointers):
                self.lines.append(f"  store ptr {self.pointer(p)}, ptr {table}.{i}")

    def call(self, call: CallText, name: str) -> list[str]:
        return [self._call(call.symbol, f"%in{name}", f"%out{name}")]

    def _call(self, symbol: str, inputs: str, outputs: str) -> str:
        table = ", ptr %table" if self.is_open else ""
        args = f"ptr %arena, ptr %constants, ptr {inputs}, ptr {outputs}{table}"
        return f'  call void @"{symbol}"({args})'

    def loop(self, loop: LoopText) -> None:
        lines = self.lines
        self.slots("%in", len(loop.inputs))
        self.slots("%out", len(loop.outputs))
        for source in (*loop.inputs, *loop.outputs):
            if isinstance(source, Counter):
                self.pointer(Scratch(source.offset))
            elif isinstance(source, Moving):
                self.pointer(source.base)
                self.number(source.stride)
            elif not isinstance(source, StateOf):
                self.pointer(source)
        places = [tuple(map(self.pointer, (s.start, s.final, s.spare))) for s in loop.states]
        for state in loop.states:
            self.number(state.nbytes)
        trip = self._trip(loop.trip)
        if loop.truth is not None:
            lines.append(f"  store i8 1, ptr {self.pointer(loop.truth)}")
        asks = loop.going is not None and not loop.states[loop.going].stays
        if loop.going is not None:
            lines += [
                f"  %flag = load i8, ptr {places[loop.going][0]}",
                "  %go0 = icmp ne i8 %flag, 0",
            ]
        known = isinstance(loop.trip, int) and loop.going is None
        if known and loop.trip == 0:
            self._finish(loop, places, [start for start, _, _ in places])
            return
        final_turn = self._final_turn(loop.trip)
        lines += ["  br label %head", "head:", "  %i = phi i64 [0, %entry], [%next, %step]"]
        moving = [k for k, s in enumerate(loop.states) if not s.stays]
        for k in moving:
            lines.append(f"  %s{k} = phi ptr [{places[k][0]}, %entry], [%n{k}, %step]")
        if asks:
            lines.append("  %go = phi i1 [%go0, %entry], [%went, %step]")
        lines.append(f"  %inside = icmp slt i64 %i, {trip}")
        inside = "%inside"
        if loop.going is not None:
            lines.append(f"  %both = and i1 %inside, {'%go' if asks else '%go0'}")
            inside = "%both"
        lines += [f"  br i1 {inside}, label %step, label %done", "step:"]
        if moving:
            lines += ["  %low = and i64 %i, 1", f"  %turn = icmp eq i64 %low, {final_turn}"]
        for k in moving:
            _, final, spare = places[k]
            lines.append(f"  %n{k} = select i1 %turn, ptr {final}, ptr {spare}")
        if any(isinstance(s, Moving) and s.is_reversed for s in (*loop.inputs, *loop.outputs)):
            lines += [f"  %top = sub i64 {trip}, 1", "  %back = sub i64 %top, %i"]
        current = [f"%s{k}" if k in moving else places[k][0] for k in range(len(places))]
        after = [f"%n{k}" if k in moving else places[k][2] for k in range(len(places))]
        self._fill("%in", loop.inputs, current)
        self._fill("%out", loop.outputs, after)
        lines.append(self._call(loop.body, "%in", "%out"))
        if asks and loop.going is not None:
            lines += [
                f"  %said = load i8, ptr {after[loop.going]}",
                "  %went = icmp ne i8 %said, 0",
            ]
        lines += ["  %next = add i64 %i, 1", "  br label %head", "done:"]
        self._finish(loop, places, current, known=known)

    def _trip(self, trip: Number | Param | None) -> str:
        if isinstance(trip, Param):
            self.lines.append(f"  %trip = load i64, ptr {self.pointer(trip)}")
            return "%trip"
        return self.number(NO_LIMIT if trip is None else trip)

    def _final_turn(self, trip: Number | Param | None) -> str:
        """Return the parity of the steps that write the final buffers.

        With a trip count known before the first step, the result is the parity of the last step.
        """
        if isinstance(trip, Slot):
            n = self.number(trip)
            self.lines += [f"  %last = sub i64 {n}, 1", "  %final_turn = and i64 %last, 1"]
            return "%final_turn"
        return str((trip - 1) % 2) if isinstance(trip, int) else "0"

    def _fill(self, table: str, sources: Sequence[Source], states: Sequence[str]) -> None:
        """Emit the entries of one table for the current step."""
        for i, source in enumerate(sources):
            if isinstance(source, StateOf):
                value = states[source.number]
            elif isinstance(source, Counter):
                value = self.pointer(Scratch(source.offset))
                self.lines.append(f"  store i64 %i, ptr {value}")
            elif isinstance(source, Moving):
                value, base = f"{table}.{i}.at", self.pointer(source.base)
                step = "%back" if source.is_reversed else "%i"
                self.lines += [
                    f"  {value}.by = mul i64 {step}, {self.number(source.stride)}",
                    f"  {value} = getelementptr i8, ptr {base}, i64 {value}.by",
                ]
            else:
                value = self.pointer(source)
            self.lines.append(f"  store ptr {value}, ptr {table}.{i}")

    def _finish(
        self,
        loop: LoopText,
        places: Sequence[tuple[str, ...]],
        current: Sequence[str],
        known: bool = False,
    ) -> None:
        """Copy states whose last value is in the spare buffer to their final buffers."""
        for k, (s, (_, final, _), now) in enumerate(zip(loop.states, places, current, strict=True)):
            if s.nbytes == 0 or (known and not s.stays):
                continue
            # memcpy does not allow overlapping operands, so 0 bytes are copied if both pointers
            # are equal.
            self.lines += [
                f"  %same{k} = icmp eq ptr {now}, {final}",
                f"  %n.bytes{k} = select i1 %same{k}, i64 0, i64 {self.number(s.nbytes)}",
                _copy(final, now, f"%n.bytes{k}"),
            ]
        self.lines += ["  ret void", "}"]
