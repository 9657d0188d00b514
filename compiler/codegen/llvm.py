"""Loop IR -> the text of an LLVM function.

Emission expands `unroll` and `vector` loops: their variables become constants and lanes. Register
buffers become SSA values that the remaining loops carry. LLVM's code generator compiles the text
directly, without an optimiser.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from compiler.codegen.access.addresses import Env, Lane
from compiler.codegen.access.fetches import inside_buffer, put
from compiler.codegen.access.indices import Indices
from compiler.codegen.access.memory import Memory
from compiler.codegen.access.params import NOT_KEPT, counter_parameter, params, size_parameter
from compiler.codegen.access.register_transpose import Square, square_of, transposed
from compiler.codegen.access.stores import fence, prefetch, store
from compiler.codegen.arithmetic.functions import Arithmetic
from compiler.codegen.arithmetic.math import WRITTEN_OUT
from compiler.codegen.emitter import Block, Emitter, Line
from compiler.codegen.expressions import Cache, Expressions
from compiler.codegen.lockstep import in_lockstep, may_mix
from compiler.codegen.products.dots import Dots, Products, products
from compiler.codegen.products.tile_runs import has_tiles, runs_of
from compiler.codegen.products.tiles import Tiles
from compiler.codegen.threads.forks import Region, part_head
from compiler.codegen.threads.shares import Shares
from compiler.codegen.threads.team import Team
from compiler.codegen.values import Value, power_of_two
from compiler.codegen.vectors.places import Places, places_of
from compiler.codegen.vectors.prepare import Prepared, prepare
from compiler.codegen.vectors.registers import Registers, cut_registers, with_whole_vectors
from compiler.compute.scalar import Read
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.types import DType
from compiler.loops.grain import steps
from compiler.loops.independence import range_of
from compiler.loops.limits import check_kernel
from compiler.loops.nodes import (
    If,
    Kernel,
    Loop,
    Prefetch,
    ScatterStore,
    Statement,
    Store,
    While,
    stored_buffers,
)
from compiler.loops.sharing import Piece, has_parallel, regions
from compiler.loops.sizes import sizes_of
from compiler.targets.options import Forking
from compiler.targets.target import Target


@dataclass(frozen=True, slots=True)
class FunctionText:
    """The definition of one function, and its declarations."""

    text: str
    declarations: tuple[str, ...]


def function_text(
    kernel: Kernel, symbol: str, target: Target, threads: int = 1, forking: Forking = "gomp"
) -> FunctionText:
    """Emit a kernel as an LLVM function of pointers to its params, in order.

    With more than one thread, parallel loops become separate functions that a team of threads runs.
    Errors: NotLowerable for element types or functions without generated code.
    """
    check_kernel(kernel)
    prepared = prepare(kernel, target)
    team = Team(symbol, threads, forking, tuple(params(kernel))) if threads > 1 else None
    return _function(kernel, symbol, _Writer(prepared, target, team))[0]


def function_lines(
    kernel: Kernel, symbol: str, target: Target, threads: int = 1, forking: Forking = "gomp"
) -> tuple[FunctionText, tuple[int, ...]]:
    """Emit a kernel's function, and map each line of the function to a line of the kernel's text.

    Lines without a counterpart map to -1. Functions for a thread's share of a parallel loop are not
    mapped.
    """
    check_kernel(kernel)
    prepared = prepare(kernel, target)
    team = Team(symbol, threads, forking, tuple(params(kernel))) if threads > 1 else None
    places = places_of(kernel, prepared.kernel, target)
    text, lines = _function(kernel, symbol, _Writer(prepared, target, team, places))
    return text, tuple(line.of if isinstance(line, Line) else -1 for line in lines)


def _function(kernel: Kernel, symbol: str, writer: _Writer) -> tuple[FunctionText, list[str]]:
    """Emit a kernel with a given writer; return its text, and the lines of its function."""
    team, prepared = writer.team, writer.prepared
    writer.leave_when_empty(kernel)
    writer.statements(prepared.kernel.body, {})
    texts = team.texts if team is not None else []
    # A region stores its operands in memory for other threads, which captures the pointers.
    named = [f"{p.replace(NOT_KEPT, '') if texts else p} {name}" for p, name in params(kernel)]
    attributes = " ".join(("nounwind", *filter(None, (writer.target.vscale_range,))))
    head = f'define void @"{symbol}"({", ".join(named)}) {attributes} {{'
    lines = [head, "entry:", *writer.lines(), "  br label %leave", "leave:"]
    lines += [*writer.ending(), "  ret void", "}"]
    return FunctionText("\n".join([*texts, *lines]), tuple(writer.out.declarations)), lines


def _times(e: Expr, var: str) -> int | None:
    """Return the factor if the expression is `var` times a number; otherwise, return None."""
    if isinstance(e, int) or e.constant or len(e.terms) != 1:
        return None
    ((atom, factor),) = e.terms
    return factor if atom == var else None


class _Writer:
    """Emits one kernel, or a thread's share of one of its regions."""

    def __init__(
        self,
        prepared: Prepared,
        target: Target,
        team: Team | None,
        places: Places | None = None,
    ) -> None:
        self.prepared = prepared
        self.places = places
        self.team = team
        self.buffers = prepared.kernel.buffers
        self.target = target
        self.out = Emitter(target.n_vector_registers, notes_lines=places is not None)
        self.env = Env()
        for n in prepared.kernel.sizes:
            self.env.values[n] = Value(size_parameter(n), DType.i64)
            self.env.ranges[n] = affine.SIZE_RANGE
        self.indices = Indices(self.out, self.env)
        self.memory = Memory(self.out, self.indices, target)
        self.arithmetic = Arithmetic(self.out, target)
        self.widths = prepared.widths
        cuts = cut_registers(prepared, target)
        self.prepared = prepared = with_whole_vectors(prepared, cuts)
        self.registers = Registers(self.out, self.env, self.indices, cuts, prepared)
        self.dots = Dots(self.memory, self.arithmetic, target)
        self.expressions = Expressions(
            self.buffers, self.memory, self.arithmetic, self.registers, target
        )
        self.vector: Loop | None = None
        self.squares: dict[int, Square | None] = {}
        """A cache of `square_of` by loop identity: unrolling emits a loop several times."""
        self.tiles = Tiles(self.memory, self.buffers, target)
        has_unit = target.has_bf16_tiles or target.has_int8_tiles
        self.runs_in_tiles = has_unit and any(map(has_tiles, prepared.kernel.body))

    def lines(self) -> list[str]:
        """Return the emitted lines of the function's body."""
        return self.tiles.unit.around(self.out.scopes[0].lines)

    def ending(self) -> list[str]:
        """Return the lines to emit before the return instruction."""
        return [*fence(self.memory), *self.tiles.unit.release()]

    def leave_when_empty(self, kernel: Kernel) -> None:
        """Emit an early return for a call whose results are all empty.

        Hoisted loads could be out of bounds if all results are empty. Only sizes passed as
        arguments can be 0; loops over other sizes have at least one iteration.
        """
        made = [b.n_elements for b in kernel.params if b.role == "output"]
        if any(isinstance(n, int) and n for n in made) or all(isinstance(n, int) for n in made):
            return
        total = self.indices.scalar(sum(made[1:], made[0]))
        self.out.line(f"%empty = icmp eq i64 {total.ref}, 0")
        self.out.line("br i1 %empty, label %leave, label %filled")
        self.out.scopes[0].lines.append("filled:")
        self.out.scopes[0].block = "filled"

    # Statements

    def statements(self, body: Sequence[Statement], cache: Cache) -> None:
        """Emit statements in order; parallel loops become regions."""
        if self.team is None or not has_parallel(body):
            self._in_order(body, cache)
            return
        for members in regions(body, self.buffers, self.env.ranges):
            if members.is_region:
                self._region(members.pieces, self.team)
            else:
                self._in_order([s for piece in members.pieces for s in piece], cache)

    def _in_order(self, body: Sequence[Statement], cache: Cache) -> None:
        if self.tiles.run is not None or not self.runs_in_tiles:
            self._one_by_one(body, cache)
            return
        env = self.env
        for part, run in runs_of(body, self.buffers, self.target, env.numbers, env.ranges):
            if run is None:
                self._one_by_one(part, cache)
            else:
                self.tiles.during(run, lambda part=part: self._one_by_one(part, cache))

    def _one_by_one(self, body: Sequence[Statement], cache: Cache) -> None:
        around = self.out.at
        for s in body:
            if self.places is not None:
                self.out.at = self.places.get((around, id(s)), around)
            known = cache.get(id(s))
            if known is None:
                known = cache[id(s)] = {}
            match s:
                case Loop():
                    self._loop(s, known)
                case Store():
                    self._in_pieces(lambda s=s, known=known: self._store(s, known))
                case ScatterStore():
                    self._scatter_store(s, known)
                case If():
                    self._if(s, known)
                case While():
                    self._while(s, known)
                case Prefetch():
                    self._prefetch(s, known)
        self.out.at = around

    def _loop(self, loop: Loop, cache: Cache) -> None:
        start, stop = self._bound(loop.start), self._bound(loop.stop)
        extent = stop - start
        if isinstance(extent, int) and extent <= 0:
            return
        low, high = self._bounds(start)[0], self._bounds(stop)[1] - 1
        outer = self.env.ranges.get(loop.var)
        self.env.ranges[loop.var] = (low, max(low, high))
        square = self._square_of(loop) if self.vector is None else None
        if loop.kind == "tile" and self.tiles.run is not None:
            self.tiles.step()
        elif square is not None:
            self._square(square, cache)
        elif loop.kind == "vector":
            self._vector_loop(loop, cache)
        elif loop.kind == "dot" and self.vector is not None:
            self._in_pieces(lambda: self._dot_loop(loop, cache))
        elif (
            isinstance(start, int)
            and isinstance(stop, int)
            and (loop.kind in ("unroll", "dot") or extent == 1)
        ):
            self._written_out(loop, start, stop, lambda: self.statements(loop.body, cache))
        else:
            self._counted_loop(loop, start, stop, cache)
        if outer is None:
            self.env.ranges.pop(loop.var, None)
        else:
            self.env.ranges[loop.var] = outer

    def _written_out(self, loop: Loop, start: int, stop: int, write: Callable[[], None]) -> None:
        lines = self.out.scopes[-1].lines
        starts: list[int] = []
        for i in range(start, stop):
            self.env.numbers[loop.var] = i
            starts.append(len(lines))
            write()
        self.env.numbers.pop(loop.var, None)
        if len(starts) > 1 and may_mix(loop, self.registers.cuts, WRITTEN_OUT):
            copies = [lines[a:b] for a, b in pairwise([*starts, len(lines)])]
            lines[starts[0] :] = in_lockstep(copies)

    def _square_of(self, loop: Loop) -> Square | None:
        if id(loop) not in self.squares:
            self.squares[id(loop)] = square_of(loop, self.buffers, self.widths)
        return self.squares[id(loop)]

    def _square(self, square: Square, cache: Cache) -> None:
        """Load, as vectors, the operands that are contiguous along the loop, and transpose them."""
        loop, lanes, env = square.loop, square.lanes, self.env
        assert isinstance(loop.start, int)
        assert isinstance(lanes.start, int)
        along = Lane(loop.var, loop.start, loop.extent, power_of_two(loop.extent))
        env.ranges[lanes.var] = (lanes.start, lanes.start + lanes.extent - 1)
        known: Cache = cache.setdefault(id(square.store), {})
        for first, active, width in self.prepared.pieces(lanes):
            begin = lanes.start + first
            columns: dict[Read, list[Value]] = {}
            env.lane = along
            for read in square.turned:
                rows: list[Value] = []
                for env.numbers[lanes.var] in range(begin, begin + active):
                    rows.append(self.expressions.value(read, known))
                columns[read] = transposed(self.out, rows, width)
            del env.numbers[lanes.var]
            env.lane = Lane(lanes.var, begin, active, width)
            for i in range(loop.extent):
                env.numbers[loop.var] = loop.start + i
                self.expressions.held = {read: found[i] for read, found in columns.items()}
                self._store(square.store, known)
            self.expressions.held = {}
            del env.numbers[loop.var]
        env.lane = None
        del env.ranges[lanes.var]

    def _dot_loop(self, loop: Loop, cache: Cache) -> None:
        """Emit a dot loop for one vector: one instruction if possible, else unrolled code."""
        step = products(loop)
        if step is not None and self._dot_step(loop, step, cache):
            return
        assert isinstance(loop.start, int)
        for s in loop.body:
            assert isinstance(s, Store), "a dot loop in a vector loop contains stores only"
            known = cache.setdefault(id(s), {})
            stop = loop.start + loop.extent
            self._written_out(
                loop, loop.start, stop, lambda s=s, known=known: self._store(s, known)
            )

    def _dot_step(self, loop: Loop, step: Products, cache: Cache) -> bool:
        lane = self.env.lane
        assert lane is not None
        can = self.dots.can(step.left.dtype, lane.lanes)
        if not can or step.store.buffer not in self.registers.cuts:
            return False
        groups: list[Value] = []
        for read in (step.left, step.right):
            b = self.buffers[read.tensor]
            flat = self.expressions.flat(read, b, read.index, cache)
            first = affine.simplify(affine.substitute(flat, {loop.var: 0}), self.env.ranges)
            stride = _times(flat - first, loop.var)
            if stride is None or b.role == "register":
                return False
            found = self.dots.group(b, self.indices.resolve(first), step.n, stride)
            if found is None:
                return False
            groups.append(found)
        total = self.registers.read(step.store.buffer, step.store.index)
        total = self.dots.add(total, *groups)
        self.registers.write(step.store.buffer, step.store.index, total)
        return True

    def _if(self, s: If, cache: Cache) -> None:
        condition = self.expressions.value(s.condition, cache)
        self._conditional(
            self.out.open_block(condition), s.body, lambda: self.statements(s.body, cache)
        )

    def _conditional(
        self, block: Block, body: tuple[Statement, ...], write: Callable[[], None]
    ) -> None:
        """Emit a conditional block; loads from buffers that the block writes do not cross it."""
        written = stored_buffers(body)
        self.memory.enter_loop(written, self.out.level)
        write()
        self.memory.leave_loop(written)
        self.out.close_block(block)

    def _while(self, s: While, cache: Cache) -> None:
        block = self.out.open_while()

        def write() -> None:
            self.out.continue_if(block, self.expressions.value(s.condition, cache))
            self.statements(s.body, cache)

        self._conditional(block, s.body, write)

    def _scatter_store(self, s: ScatterStore, cache: Cache) -> None:
        b = self.buffers[s.buffer]
        places = [self.expressions.value(i, cache) for i in s.index]
        value = self.expressions.value(s.value, cache)
        holds = inside_buffer(self.memory, self.arithmetic, b, places)
        self._conditional(
            self.out.open_block(holds),
            (s,),
            lambda: put(self.memory, self.arithmetic, b, places, value),
        )

    def _region(self, pieces: Sequence[Piece], team: Team) -> None:
        """Emit a region's functions and its call."""
        body = tuple(s for piece in pieces for s in piece)
        around = [v for v in sizes_of((), body) if v in self.env.values]
        around = [v for v in around if v not in self.prepared.kernel.sizes]
        region = team.region(around)
        part = self._part(region, pieces, around)
        iterations = [self.env.values[v].ref for v in around]
        work = steps(body, self.buffers, self.target)
        team.write_call(region, part, iterations, work, self.indices)
        for name in sorted(stored_buffers(body)):
            if name not in self.registers.cuts:
                self.memory.note_store(self.buffers[name])

    def _part(self, region: Region, pieces: Sequence[Piece], around: Sequence[str]) -> str:
        """Emit the function for one thread's share of a parallel region."""
        part = _Writer(self.prepared, self.target, None)
        part.env.ranges.update(self.env.ranges)
        part.env.numbers.update(self.env.numbers)
        for v in around:
            part.env.values[v] = Value(counter_parameter(v), DType.i64)
        Shares(part, part.indices, self.buffers).region(pieces, {})
        lines = [part_head(region), "entry:", *part.lines(), *part.ending()]
        for text in part.out.declarations:
            self.out.declare(text)
        return "\n".join([*lines, "  ret void", "}"])

    def count_text(self, loop: Loop, first: Value, end: Value, write: Callable[[], None]) -> None:
        """Emit a loop of independent iterations from `first` to `end`; the range may be empty."""
        written = stored_buffers(loop.body) - self.registers.cuts.keys()
        opened = self.out.open_loop(first, end, True, [])
        self.memory.enter_loop(written, self.out.level)
        self.env.values[loop.var] = opened.counter
        self.env.ranges[loop.var] = range_of(loop, self.env.ranges)
        with self.registers.of_their_own():
            write()
        del self.env.values[loop.var], self.env.ranges[loop.var]
        self.memory.leave_loop(written)
        self.tiles.unit.configure_before()
        self.out.close_loop(opened, [])

    def only_if(self, condition: Value, body: Piece, write: Callable[[], None]) -> None:
        """Emit a conditional block that leaves no value in registers."""
        with self.registers.of_their_own():
            self._conditional(self.out.open_block(condition), body, write)

    def _bound(self, e: Expr) -> Expr:
        if isinstance(e, int):
            return e
        return affine.simplify(affine.substitute(e, {**self.env.numbers}), self.env.ranges)

    def _bounds(self, e: Expr) -> tuple[int, int]:
        return affine.bounds(e, self.env.ranges)

    def _counted_loop(self, loop: Loop, start: Expr, stop: Expr, cache: Cache) -> None:
        keys = self.registers.stored_in(loop.body)
        written = stored_buffers(loop.body) - self.registers.cuts.keys()
        may_be_empty = self._bounds(stop - start)[0] < 1
        first, end = self.indices.scalar(start), self.indices.scalar(stop)
        carried = [self.registers.get(k) for k in keys]
        opened = self.out.open_loop(first, end, may_be_empty, carried)
        for key, (_, phi) in zip(keys, opened.phis, strict=True):
            self.registers.current[key] = phi
        self.memory.enter_loop(written, self.out.level)
        self.env.values[loop.var] = opened.counter
        self.statements(loop.body, cache)
        del self.env.values[loop.var]
        self.memory.leave_loop(written)
        self.tiles.unit.configure_before()
        latch = [self.registers.get(k) for k in keys]
        after = self.out.close_loop(opened, latch)
        self.registers.current.update(zip(keys, after, strict=True))

    def _vector_loop(self, loop: Loop, cache: Cache) -> None:
        assert self.vector is None, f"the vector loop {loop.var} is inside another vector loop"
        self.vector = loop
        self.statements(loop.body, cache)
        self.vector = None

    def _in_pieces(self, write: Callable[[], None]) -> None:
        """Emit a statement once, or once for each hardware vector of the current vector loop."""
        loop = self.vector
        if loop is None:
            write()
            return
        assert isinstance(loop.start, int)
        stop = None if isinstance(loop.stop, int) else self.indices.scalar(loop.stop)
        for first, active, lanes in self.prepared.pieces(loop):
            self.env.lane = Lane(loop.var, loop.start + first, active, lanes, stop)
            write()
        self.env.lane = None

    def _store(self, s: Store, cache: Cache) -> None:
        value = self.expressions.value(s.value, cache)
        if s.buffer in self.registers.cuts:
            self.registers.write(s.buffer, s.index, value)
            return
        b = self.buffers[s.buffer]
        r = self.indices.resolve(self.expressions.flat(s, b, s.index, cache))
        store(self.memory, b, r, value, stream=s.stream)

    def _prefetch(self, s: Prefetch, cache: Cache) -> None:
        b = self.buffers[s.buffer]
        prefetch(self.memory, b, self.indices.resolve(self.expressions.flat(s, b, s.index, cache)))
