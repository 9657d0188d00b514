"""Loop IR -> the text of an LLVM function.

`unroll` and `vector` loops vanish while the text is written: their variables become numbers and
lanes. Register buffers become SSA values that the remaining loops carry. The text is meant for
LLVM's code generator alone; no optimiser runs after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from compiler.codegen.addresses import Env, Lane, flatten
from compiler.codegen.arithmetic import Arithmetic
from compiler.codegen.bounded import is_bounded, narrowed
from compiler.codegen.convert import convert, to_bf16
from compiler.codegen.dots import Dots, Products, products
from compiler.codegen.emitter import Block, Emitter
from compiler.codegen.fetches import Places, fetch, inside_buffer, put
from compiler.codegen.forks import Param, Region, declarations, fork_text, part_head
from compiler.codegen.indices import Indices
from compiler.codegen.loads import load
from compiler.codegen.memory import Memory, parameter
from compiler.codegen.prepare import Prepared, prepare, vector_pieces
from compiler.codegen.registers import Registers, cut_registers
from compiler.codegen.shares import Shares
from compiler.codegen.stores import fence, prefetch, store
from compiler.codegen.trees import Trees
from compiler.codegen.values import Value, constant
from compiler.compute.scalar import (
    Apply,
    Bits,
    Convert,
    Fetch,
    IndexValue,
    Inside,
    Number,
    Read,
    Scalar,
)
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.types import DType
from compiler.loops.grain import least_steps, steps
from compiler.loops.independence import range_of
from compiler.loops.limits import check_kernel
from compiler.loops.nodes import (
    Buffer,
    Kernel,
    Loop,
    Prefetch,
    Put,
    Statement,
    Store,
    When,
    While,
    stored_buffers,
)
from compiler.loops.sharing import Piece, has_parallel, regions
from compiler.loops.sizes import sizes_of
from compiler.memory.in_place import overwritable
from compiler.targets.options import Forking
from compiler.targets.target import Target


@dataclass(frozen=True, slots=True)
class FunctionText:
    """The definition of one function and the declarations that it needs."""

    text: str
    declarations: tuple[str, ...]


def function_text(
    kernel: Kernel, symbol: str, target: Target, threads: int = 1, forking: Forking = "gomp"
) -> FunctionText:
    """The LLVM text of a kernel as a function of pointers to its params, in order.

    With more than one thread its parallel loops are functions of their own, which a team runs.
    Errors: NotLowerable for element types or functions without generated code.
    """
    check_kernel(kernel)
    prepared = prepare(kernel, target)
    team = Team(symbol, threads, forking, tuple(_params(kernel))) if threads > 1 else None
    writer = _Writer(prepared, target, team)
    writer.leave_when_empty(kernel)
    writer.statements(prepared.kernel.body, {})
    texts = team.texts if team is not None else []
    # A region's operands are handed to other threads in memory.
    params = [f"{p.replace(NOT_KEPT, '') if texts else p} {name}" for p, name in _params(kernel)]
    head = f'define void @"{symbol}"({", ".join(params)}) nounwind {{'
    lines = [head, "entry:", *writer.out.scopes[0].lines, "  br label %leave", "leave:"]
    lines += [*fence(writer.memory), "  ret void", "}"]
    return FunctionText("\n".join([*texts, *lines]), tuple(writer.out.declarations))


NOT_KEPT = " captures(none)"
"""A pointer is not there any more, in any place, when the function returns."""


def _params(kernel: Kernel) -> Iterator[Param]:
    """The parameters of a kernel: pointers, of which all is told that is known, and sizes."""
    stored, shared = stored_buffers(kernel.body), _may_share_memory(kernel)
    for b in kernel.params:
        noalias = "" if b.name in shared else " noalias"
        readonly = "" if b.name in stored else " readonly"
        yield f"ptr{noalias}{readonly}{NOT_KEPT}", parameter(b)
    for n in kernel.sizes:
        yield "i64", size_parameter(n)


@dataclass
class Team:
    """The threads that a kernel's regions are written for, and the functions written so far."""

    symbol: str
    threads: int
    forking: Forking
    params: tuple[Param, ...]
    texts: list[str] = field(default_factory=list)
    n_regions: int = 0

    def region(self, counters: Sequence[str]) -> Region:
        """A new region, which also gets the turns of the loops round it."""
        self.n_regions += 1
        params = (*self.params, *(("i64", counter_parameter(v)) for v in counters))
        return Region(f"{self.symbol}.{self.n_regions}", params)


Cache = dict[object, dict]  # type: ignore[type-arg]
"""What is known of the statements of one body; holds the caches of inner bodies by identity."""


def _times(e: Expr, var: str) -> int | None:
    """The factor of a symbol, if an expression is nothing but that symbol times a number."""
    if isinstance(e, int) or e.constant or len(e.terms) != 1:
        return None
    ((atom, factor),) = e.terms
    return factor if atom == var else None


class _Writer:
    """Writes one kernel, or the share that a thread has of one of its regions."""

    def __init__(self, prepared: Prepared, target: Target, team: Team | None) -> None:
        self.prepared = prepared
        self.team = team
        self.buffers = prepared.kernel.buffers
        self.target = target
        self.out = Emitter(target.n_vector_registers)
        self.env = Env()
        for n in prepared.kernel.sizes:
            self.env.values[n] = Value(size_parameter(n), DType.i64)
            self.env.ranges[n] = affine.SIZE_RANGE
        self.indices = Indices(self.out, self.env)
        self.memory = Memory(self.out, self.indices, target)
        self.arithmetic = Arithmetic(self.out, target)
        self.widths = prepared.widths
        cuts = cut_registers(prepared)
        self.registers = Registers(self.out, self.env, self.indices, cuts, prepared.widths)
        self.trees = Trees(self.registers, self.arithmetic)
        self.dots = Dots(self.memory, self.arithmetic, target)
        self.vector: Loop | None = None
        self.guards: list[Value] = []

    def leave_when_empty(self, kernel: Kernel) -> None:
        """Do nothing when no result has elements: what loops read before they begin may be nothing.

        Only sizes given at the call can be 0; other loops run at least once.
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
        """Write statements one after the other; what threads share becomes regions."""
        if self.team is None or not has_parallel(body):
            self._in_order(body, cache)
            return
        for members in regions(body, self.buffers, self.env.ranges):
            if members.is_region:
                self._region(members.pieces, self.team)
            else:
                self._in_order([s for piece in members.pieces for s in piece], cache)

    def _in_order(self, body: Sequence[Statement], cache: Cache) -> None:
        for s in body:
            known = cache.get(id(s))
            if known is None:
                known = cache[id(s)] = {}
            match s:
                case Loop():
                    self._loop(s, known)
                case Store():
                    self._in_pieces(lambda s=s, known=known: self._store(s, known))
                case Put():
                    self._put(s, known)
                case When():
                    self._when(s, known)
                case While():
                    self._while(s, known)
                case Prefetch():
                    self._prefetch(s, known)

    def _loop(self, loop: Loop, cache: Cache) -> None:
        start, stop = self._bound(loop.start), self._bound(loop.stop)
        extent = stop - start
        if isinstance(extent, int) and extent <= 0:
            return
        low, high = self._bounds(start)[0], self._bounds(stop)[1] - 1
        outer = self.env.ranges.get(loop.var)
        self.env.ranges[loop.var] = (low, max(low, high))
        if loop.kind == "vector":
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
        for i in range(start, stop):
            self.env.numbers[loop.var] = i
            write()
        self.env.numbers.pop(loop.var, None)

    def _dot_loop(self, loop: Loop, cache: Cache) -> None:
        """A dot loop for the lanes of one vector: one step where it can be, else written out."""
        step = products(loop)
        if step is not None and self._dot_step(loop, step, cache):
            return
        assert isinstance(loop.start, int)
        for s in loop.body:
            assert isinstance(s, Store), "a dot loop in a vector loop holds stores only"
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
            flat = self._flat(read, b, read.index, cache)
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

    def _when(self, s: When, cache: Cache) -> None:
        condition = self.value(s.condition, cache)
        self._conditional(
            self.out.open_block(condition), s.body, lambda: self.statements(s.body, cache)
        )

    def _conditional(
        self, block: Block, body: tuple[Statement, ...], write: Callable[[], None]
    ) -> None:
        """A block that may not run: loads of what it stores to stay on their side of it."""
        written = stored_buffers(body)
        self.memory.enter_loop(written, self.out.level)
        write()
        self.memory.leave_loop(written)
        self.out.close_block(block)

    def _while(self, s: While, cache: Cache) -> None:
        block = self.out.open_while()

        def write() -> None:
            self.out.continue_if(block, self.value(s.condition, cache))
            self.statements(s.body, cache)

        self._conditional(block, s.body, write)

    def _put(self, s: Put, cache: Cache) -> None:
        b = self.buffers[s.buffer]
        places = [self.value(i, cache) for i in s.index]
        value = self.value(s.value, cache)
        holds = inside_buffer(self.memory, self.arithmetic, b, places)
        self._conditional(
            self.out.open_block(holds),
            (s,),
            lambda: put(self.memory, self.arithmetic, b, places, value),
        )

    def _region(self, pieces: Sequence[Piece], team: Team) -> None:
        """Hand a region to a team, or do it alone if only the sizes tell and it is small."""
        body = tuple(s for piece in pieces for s in piece)
        around = [v for v in sizes_of((), body) if v in self.env.values]
        around = [v for v in around if v not in self.prepared.kernel.sizes]
        region = team.region(around)
        self._write_part(region, pieces, around)
        team.texts.append(fork_text(region, team.threads, team.forking))
        for text in declarations(team.forking):
            self.out.declare(text)
        values = [*(n for _, n in team.params), *(self.env.values[v].ref for v in around)]
        work = steps(body, self.buffers, self.target)
        if isinstance(work, int) or not affine.is_simple(work):
            self.out.line(region.fork(values))
        else:
            found, limit = self.indices.scalar(work), least_steps(team.threads)
            pays = self.out.op(f"icmp sge i64 {found.ref}, {limit}", DType.bool, 0, found)
            for holds, call in (
                (pays, region.fork(values)),
                (self.out.negated(pays), region.part(values, "0", "1")),
            ):
                block = self.out.open_block(holds)
                self.out.line(call)
                self.out.close_block(block)
        for name in sorted(stored_buffers(body)):
            if name not in self.registers.cuts:
                self.memory.note_store(self.buffers[name])

    def _write_part(self, region: Region, pieces: Sequence[Piece], around: Sequence[str]) -> None:
        """Write the function of one thread's share."""
        assert self.team is not None, "regions are written for a team"
        part = _Writer(self.prepared, self.target, None)
        part.env.ranges.update(self.env.ranges)
        part.env.numbers.update(self.env.numbers)
        for v in around:
            part.env.values[v] = Value(counter_parameter(v), DType.i64)
        Shares(part, part.indices, self.buffers).region(pieces, {})
        lines = [part_head(region), "entry:", *part.out.scopes[0].lines]
        lines += [*fence(part.memory), "  ret void", "}"]
        self.team.texts.append("\n".join(lines))
        for text in part.out.declarations:
            self.out.declare(text)

    def counted(self, loop: Loop, first: Value, end: Value, write: Callable[[], None]) -> None:
        """Write a loop of independent turns from first to end, which may be none."""
        written = stored_buffers(loop.body) - self.registers.cuts.keys()
        opened = self.out.open_loop(first, end, True, [])
        self.memory.enter_loop(written, self.out.level)
        self.env.values[loop.var] = opened.counter
        self.env.ranges[loop.var] = range_of(loop, self.env.ranges)
        with self.registers.of_their_own():
            write()
        del self.env.values[loop.var], self.env.ranges[loop.var]
        self.memory.leave_loop(written)
        self.out.close_loop(opened, [])

    def only_if(self, condition: Value, body: Piece, write: Callable[[], None]) -> None:
        """Write a block that runs if a condition holds, and leaves nothing in registers."""
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
        latch = [self.registers.get(k) for k in keys]
        after = self.out.close_loop(opened, latch)
        self.registers.current.update(zip(keys, after, strict=True))

    def _vector_loop(self, loop: Loop, cache: Cache) -> None:
        assert self.vector is None, f"the vector loop {loop.var} is inside another one"
        self.vector = loop
        self.statements(loop.body, cache)
        self.vector = None

    def _in_pieces(self, write: Callable[[], None]) -> None:
        """Write a statement once, or once for each hardware vector of the open vector loop."""
        loop = self.vector
        if loop is None:
            write()
            return
        assert isinstance(loop.start, int)
        for first, active, lanes in vector_pieces(loop.extent, self.widths[id(loop)]):
            self.env.lane = Lane(loop.var, loop.start + first, active, lanes)
            write()
        self.env.lane = None

    def _store(self, s: Store, cache: Cache) -> None:
        value = self.value(s.value, cache)
        if s.buffer in self.registers.cuts:
            self.registers.write(s.buffer, s.index, value)
            return
        b = self.buffers[s.buffer]
        r = self.indices.resolve(self._flat(s, b, s.index, cache))
        store(self.memory, b, r, value, stream=s.stream)

    def _prefetch(self, s: Prefetch, cache: Cache) -> None:
        b = self.buffers[s.buffer]
        prefetch(self.memory, b, self.indices.resolve(self._flat(s, b, s.index, cache)))

    def _flat(self, owner: object, b: Buffer, index: tuple[Expr, ...], cache: Cache) -> Expr:
        """The element number of an access, worked out once per statement."""
        found = cache.get(("flat", id(owner)))
        if found is None:
            flat = self.indices.simplified(flatten(index, b.strides))
            found = cache[("flat", id(owner))] = {"flat": flat}
        return found["flat"]

    # Values

    def value(self, s: Scalar, cache: Cache) -> Value:
        """The value of an expression, for all lanes where they differ."""
        match s:
            case Read(name, index, _):
                if name in self.registers.cuts:
                    return self.registers.read(name, index)
                b = self.buffers[name]
                r = self.indices.resolve(self._flat(s, b, index, cache))
                guard = self.out.all_of(self.guards) if self.guards else None
                return load(self.memory, b, r, guard)
            case Fetch(name, places, _):
                b = self.buffers[name]
                return fetch(self.memory, self.arithmetic, b, self._places(b, places, cache))
            case Number(number, dtype):
                return constant(number, dtype)
            case Apply(fn, args, dtype):
                fused = self._fused(s, cache) or self.trees.value(s)
                if fused is not None:
                    return fused
                return self.arithmetic.apply(fn, [self.value(a, cache) for a in args], dtype)
            case Convert(Apply("flush", (arg,)), DType.bf16) if self.target.flushes_to_bf16:
                return to_bf16(self.arithmetic, self.value(arg, cache))
            case Convert(arg, dtype):
                value = self.value(arg, cache)
                if is_bounded(arg, dtype):
                    return narrowed(self.arithmetic, value, dtype)
                return convert(self.arithmetic, value, dtype)
            case Bits(arg, dtype):
                return self.memory.reinterpreted(self.value(arg, cache), dtype)
            case IndexValue(expr, dtype):
                return self._index_value(expr, dtype)
            case Inside():
                return self._inside(s, cache)
            case _:
                raise AssertionError(f"{type(s).__name__} has no place in Loop IR")

    def _places(self, b: Buffer, places: tuple[Scalar, ...], cache: Cache) -> Places:
        """The index of a fetch, with all axes whose index certainly lies inside in one sum."""
        computed: dict[int, Value] = {}
        inside: Expr = 0
        for d, (place, n) in enumerate(zip(places, b.shape, strict=True)):
            if isinstance(place, IndexValue) and place.dtype is DType.i64 and isinstance(n, int):
                e = self.indices.simplified(place.expr)
                low, high = self.indices.bounds(self.indices.resolve(e))
                if low >= 0 and high < n:
                    inside = inside + e * b.strides[d]
                    continue
            computed[d] = self.value(place, cache)
        return Places(computed, self.indices.resolve(self.indices.simplified(inside)))

    def _fused(self, s: Apply, cache: Cache) -> Value | None:
        """`a*b + c` and its relatives as one operation."""
        if s.fn not in ("add", "sub") or s.dtype not in (DType.f32, DType.f64):
            return None
        left, right = s.args
        if isinstance(right, Apply) and right.fn == "mul":
            a, b = (self.value(x, cache) for x in right.args)
            c = self.value(left, cache)
            if s.fn == "sub":
                a = self.arithmetic.negate(a)
            return self.arithmetic.fma(a, b, c)
        if isinstance(left, Apply) and left.fn == "mul":
            a, b = (self.value(x, cache) for x in left.args)
            c = self.value(right, cache)
            return self.arithmetic.fma(a, b, self.arithmetic.negate(c) if s.fn == "sub" else c)
        return None

    def _index_value(self, expr: Expr, dtype: DType) -> Value:
        r = self.indices.resolve(self.indices.simplified(expr))
        v = self.indices.uniform(r) if r.is_uniform else self.indices.lanes(r)
        return convert(self.arithmetic, v, dtype)

    def _limit(self, extent: Expr, like: Value) -> Value:
        """The end of an axis as numbers are compared with it."""
        if isinstance(extent, int):
            return constant(extent, like.dtype, like.lanes)
        n = self.indices.scalar(extent)
        if like.dtype is DType.i32:
            n = self.out.op(f"trunc i64 {n.ref} to i32", DType.i32, 0, n)
        return self.out.splat(n, like.lanes)

    def _inside(self, s: Inside, cache: Cache) -> Value:
        conditions: list[Value] = []
        for e, extent in s.tests:
            r = self.indices.resolve(self.indices.simplified(e))
            low, high = self.indices.bounds(r)
            least, most = affine.bounds(extent, self.env.ranges)
            if low >= 0 and high < least:
                continue
            if high < 0 or low >= most:
                return self.value(s.otherwise, cache)
            v = self.indices.uniform(r) if r.is_uniform else self.indices.lanes(r)
            limit = self._limit(extent, v)
            text = f"icmp ult {v.typed}, {limit.ref}"
            conditions.append(self.out.op(text, DType.bool, v.lanes, v))
        if not conditions:
            return self.value(s.then, cache)
        holds = self.out.all_of(conditions)
        self.guards.append(holds)
        then = self.value(s.then, cache)
        self.guards[-1] = self.out.negated(holds)
        otherwise = self.value(s.otherwise, cache)
        self.guards.pop()
        return self.out.select(holds, then, otherwise)


def size_parameter(name: str) -> str:
    """The SSA name of one of the sizes."""
    return f'%"n.{name}"'


def counter_parameter(name: str) -> str:
    """The SSA name of the turn of a loop round a region."""
    return f'%"c.{name}"'


def _may_share_memory(kernel: Kernel) -> set[str]:
    """The params that a program may give one address, because results may overwrite operands."""
    found: set[str] = set()
    for output, operands in overwritable(kernel).items():
        found |= {output, *operands}
    return found
