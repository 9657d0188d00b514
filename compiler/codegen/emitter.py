"""The emitter of one LLVM function: names, scopes, loops, and value numbering.

Every loop is a scope. An operation without side effects is emitted in the outermost scope in which
all its operands are defined. Operations with equal text are one value and are emitted once.
Loop-invariant code motion and common subexpression elimination thus happen during emission, without
an optimiser.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from compiler.codegen.values import Value, constant, value_type
from compiler.dataclass import dataclass
from compiler.ir.types import DType


class Line(str):
    """A line of LLVM text with the corresponding line of the Loop IR, -1 for none."""

    __slots__ = ("of",)
    of: int


class _Lines(list[str]):
    """LLVM lines, each recorded with the current line of the Loop IR."""

    def __init__(self, out: Emitter) -> None:
        self._out = out

    def append(self, text: str, /) -> None:
        super().append(self._noted(text))

    def extend(self, texts: Iterable[str], /) -> None:
        super().extend(map(self._noted, texts))

    def __iadd__(self, texts: Iterable[str], /) -> _Lines:  # pyright: ignore[reportIncompatibleMethodOverride]
        self.extend(texts)
        return self

    def _noted(self, text: str) -> Line:
        if isinstance(text, Line):
            return text
        line = Line(text)
        line.of = self._out.at
        return line


@dataclass(slots=True)
class Scope:
    """The text emitted so far for one loop body, or for the function."""

    block: str
    vector_budget: int
    lines: list[str] = field(default_factory=list)
    numbered: dict[str, Value] = field(default_factory=dict)
    pointers: dict[object, Value] = field(default_factory=dict)
    """A cache of addresses in this scope."""
    atoms: dict[object, Value] = field(default_factory=dict)
    """A cache of compound expressions of sizes and counters."""


@dataclass(slots=True)
class OpenLoop:
    """The state of an open loop, for `close_loop`."""

    label: str
    done: str
    counter: Value
    start: Value
    stop: Value
    may_be_empty: bool
    phis: list[tuple[Value, Value]]
    """The loop-carried values: the initial value, and the value inside the loop."""


@dataclass(slots=True)
class Block:
    """The state of an open conditional or while block, for `close_block`."""

    label: str
    done: str
    condition: Value | None = None
    """The condition of a conditional block; None for a while block, which tests per iteration."""


class Emitter:
    """The emitter of one function; values of `level` d belong to scope d, and scope 0 is the body.

    With line tracking, each line is a `Line`; `at` is the current line of the Loop IR.
    """

    def __init__(self, n_vector_registers: int, notes_lines: bool = False) -> None:
        self.n_vector_registers = n_vector_registers
        self.notes_lines = notes_lines
        self.at = -1
        self.scopes: list[Scope] = []
        self._begin("entry", n_vector_registers)
        self.declarations: dict[str, None] = {}
        self.used: set[str] = set()
        """Loop-carried values with readers; a loop drops values without readers."""
        self._count = 0

    @property
    def level(self) -> int:
        """The depth of the current scope."""
        return len(self.scopes) - 1

    def _begin(self, block: str, vector_budget: int) -> None:
        scope = Scope(block, vector_budget)
        if self.notes_lines:
            scope.lines = _Lines(self)
        self.scopes.append(scope)

    def fresh(self, prefix: str = "v") -> str:
        """Return a new SSA name."""
        self._count += 1
        return f"%{prefix}{self._count}"

    # Operations

    def op(self, text: str, dtype: DType, lanes: int, *operands: Value) -> Value:
        """Emit an operation without side effects; `text` is the instruction's right-hand side."""
        level = 0
        for o in operands:
            if o.level > level:
                level = o.level
        return self.op_at(text, dtype, lanes, level)

    def op_at(self, text: str, dtype: DType, lanes: int, level: int, key: str = "") -> Value:
        """Emit an operation in scope `level` or deeper; equal keys share one value.

        By default, the text of the operation is its key.
        """
        key = key or text
        scopes = self.scopes
        current = len(scopes) - 1
        for depth in range(level, current + 1):
            found = scopes[depth].numbered.get(key)
            if found is not None:
                # Element types of one LLVM type (f32 and f16, i32 and u32) may share a value.
                if found.dtype is dtype:
                    return found
                return Value(found.ref, dtype, lanes, found.level)
        if lanes and level < current:
            level = self._reserve(level, current)
        scope = scopes[level]
        self._count += 1
        ref = f"%v{self._count}"
        scope.lines.append(f"  {ref} = {text}")
        made = Value(ref, dtype, lanes, level)
        scope.numbered[key] = made
        return made

    def _reserve(self, level: int, current: int) -> int:
        """Return the outermost scope for a vector, and reserve a register in its inner loops."""
        scopes = self.scopes
        outermost = current
        while outermost > level and scopes[outermost].vector_budget > 0:
            outermost -= 1
        for depth in range(outermost + 1, current + 1):
            scopes[depth].vector_budget -= 1
        return outermost

    def line(self, text: str) -> None:
        """Emit a line with a side effect in the current scope."""
        self.scopes[-1].lines.append(f"  {text}")

    def call(self, name: str, dtype: DType, lanes: int, *operands: Value) -> Value:
        """Emit and declare a call of a pure function."""
        result = value_type(dtype, lanes)
        self.declare(f"declare {result} @{name}({', '.join(o.type for o in operands)})")
        text = f"call {result} @{name}({', '.join(o.typed for o in operands)})"
        return self.op(text, dtype, lanes, *operands)

    def call_if(self, condition: Value, name: str, value: Value, *operands: Value) -> Value:
        """Replace `value` with the result of a pure function if a rare condition holds."""
        level = max(o.level for o in (condition, value, *operands))
        key = f"{condition.ref} {name} {value.ref} {' '.join(o.ref for o in operands)}"
        scope = self.scopes[level]
        if key in scope.numbered:
            return scope.numbered[key]
        self._count += 1
        rare, done = f"rare{self._count}", f"usual{self._count}"
        other, ref = self.fresh(), self.fresh()
        typed = ", ".join(o.typed for o in operands)
        scope.lines += [
            f"  br i1 {condition.ref}, label %{rare}, label %{done}", f"{rare}:",
            f"  {other} = call {value.type} @{name}({typed})", f"  br label %{done}", f"{done}:",
            f"  {ref} = phi {value.type} [ {value.ref}, %{scope.block} ], [ {other}, %{rare} ]",
        ]  # fmt: skip
        scope.block = done
        scope.numbered[key] = Value(ref, value.dtype, value.lanes, level)
        return scope.numbered[key]

    def declare(self, text: str) -> None:
        """Add a declaration, or the definition of an internal function, to the module."""
        self.declarations[text] = None

    # Loops

    def open_loop(
        self, start: Value, stop: Value, may_be_empty: bool, carried: Sequence[Value]
    ) -> OpenLoop:
        """Begin a counted loop from start to stop, with loop-carried values."""
        self._count += 1
        label = f"loop{self._count}"
        inside = len(self.scopes)
        counter = Value(self.fresh("i"), DType.i64, 0, inside)
        phis = [(v, Value(self.fresh("r"), v.dtype, v.lanes, inside)) for v in carried]
        budget = self.n_vector_registers - 4 - len(phis)
        self._begin(label, budget)
        return OpenLoop(label, f"done{label[4:]}", counter, start, stop, may_be_empty, phis)

    def close_loop(self, loop: OpenLoop, latch: Sequence[Value]) -> list[Value]:
        """End a loop; `latch` are the carried values at the end of its body.

        Return the values after the loop.
        """
        i, start = loop.counter.ref, loop.start
        inner = self.scopes[-1]
        following = self.fresh("n")
        inner.lines.append(f"  {following} = add nuw nsw i64 {i}, 1")
        test = self.fresh("c")
        inner.lines.append(f"  {test} = icmp slt i64 {following}, {loop.stop.ref}")
        inner.lines.append(f"  br i1 {test}, label %{loop.label}, label %{loop.done}")
        self.scopes.pop()
        outer, level = self.scopes[-1], self.level
        before = outer.block
        if loop.may_be_empty:
            enter = self.fresh("c")
            outer.lines.append(f"  {enter} = icmp slt i64 {start.ref}, {loop.stop.ref}")
            outer.lines.append(f"  br i1 {enter}, label %{loop.label}, label %{loop.done}")
        else:
            outer.lines.append(f"  br label %{loop.label}")
        outer.lines.append(f"{loop.label}:")
        outer.lines.append(
            f"  {i} = phi i64 [ {start.ref}, %{before} ], [ {following}, %{inner.block} ]"
        )
        for initial, phi, last in self._living(loop, latch):
            outer.lines.append(
                f"  {phi.ref} = phi {phi.type} [ {initial.ref}, %{before} ], "
                f"[ {last.ref}, %{inner.block} ]"
            )
        outer.lines.extend(inner.lines)
        outer.lines.append(f"{loop.done}:")
        outer.block = loop.done
        after: list[Value] = []
        for (initial, phi), last in zip(loop.phis, latch, strict=True):
            if last.ref == phi.ref:  # the loop does not change the value
                after.append(initial)
                continue
            if not loop.may_be_empty:
                after.append(Value(last.ref, last.dtype, last.lanes, min(last.level, level)))
                continue
            self.used.add(initial.ref)
            merged = self.fresh("r")
            outer.lines.append(
                f"  {merged} = phi {phi.type} [ {initial.ref}, %{before} ], "
                f"[ {last.ref}, %{inner.block} ]"
            )
            after.append(Value(merged, last.dtype, last.lanes, level))
        return after

    def _living(self, loop: OpenLoop, latch: Sequence[Value]) -> list[tuple[Value, Value, Value]]:
        """Return the carried values (initial, inside, final) that have readers inside the loop."""
        rows = [(a, phi, b) for (a, phi), b in zip(loop.phis, latch, strict=True)]
        living = [row for row in rows if row[1].ref in self.used]
        self.used.update(initial.ref for initial, _, _ in living)
        return living

    # Conditions

    def open_block(self, condition: Value) -> Block:
        """Begin a block that runs if a condition holds."""
        self._count += 1
        return self._open(Block(f"when{self._count}", f"done{self._count}", condition))

    def open_while(self) -> Block:
        """Begin a block that repeats while the condition of `continue_if` holds."""
        self._count += 1
        return self._open(Block(f"while{self._count}", f"done{self._count}"))

    def _open(self, block: Block) -> Block:
        self._begin(block.label, self.scopes[-1].vector_budget)
        return block

    def continue_if(self, block: Block, condition: Value) -> None:
        """Emit a conditional jump out of the block, taken if the condition does not hold."""
        inner = self.scopes[-1]
        inner.block = f"turn{block.label[5:]}"
        inner.lines.append(f"  br i1 {condition.ref}, label %{inner.block}, label %{block.done}")
        inner.lines.append(f"{inner.block}:")

    def close_block(self, block: Block) -> None:
        """End a block; later code runs unconditionally."""
        inner = self.scopes.pop()
        outer = self.scopes[-1]
        if block.condition is None:
            outer.lines.append(f"  br label %{block.label}")
            after = block.label
        else:
            test = block.condition.ref
            outer.lines.append(f"  br i1 {test}, label %{block.label}, label %{block.done}")
            after = block.done
        outer.lines.append(f"{block.label}:")
        outer.lines.extend(inner.lines)
        outer.lines.append(f"  br label %{after}")
        outer.lines.append(f"{block.done}:")
        outer.block = block.done

    # Vectors

    def splat(self, v: Value, lanes: int) -> Value:
        """Broadcast a scalar to every lane; return a vector unchanged."""
        if v.lanes or not lanes:
            return v
        if v.is_constant:
            return Value(f"splat ({v.typed})", v.dtype, lanes)
        vector = value_type(v.dtype, lanes)
        first = self.op(f"insertelement {vector} poison, {v.typed}, i64 0", v.dtype, lanes, v)
        zeros = "zeroinitializer"
        return self.op(
            f"shufflevector {first.typed}, {vector} poison, <{lanes} x i32> {zeros}",
            v.dtype, lanes, first,
        )  # fmt: skip

    def shuffle(self, a: Value, b: Value | None, picks: Sequence[int]) -> Value:
        """Shuffle the lanes of one or two vectors; a negative pick gives an undefined lane."""
        second = b.typed if b is not None else f"{a.type} poison"
        mask = ", ".join("i32 poison" if p < 0 else f"i32 {p}" for p in picks)
        operands = (a,) if b is None else (a, b)
        text = f"shufflevector {a.typed}, {second}, <{len(picks)} x i32> <{mask}>"
        return self.op(text, a.dtype, len(picks), *operands)

    def extract(self, v: Value, lane: int) -> Value:
        """Extract one lane as a scalar."""
        return self.op(f"extractelement {v.typed}, i64 {lane}", v.dtype, 0, v)

    def insert(self, v: Value, element: Value, lane: int) -> Value:
        """Replace one lane of a vector."""
        text = f"insertelement {v.typed}, {element.typed}, i64 {lane}"
        return self.op(text, v.dtype, v.lanes, v, element)

    def reinterpret(self, v: Value, dtype: DType) -> Value:
        """Reinterpret the bits as another element type of the same size."""
        return self.op(f"bitcast {v.typed} to {value_type(dtype, v.lanes)}", dtype, v.lanes, v)

    def select(self, condition: Value, then: Value, otherwise: Value) -> Value:
        """Select `then` where the condition holds, else `otherwise`; per lane for vectors."""
        lanes = max(condition.lanes, then.lanes, otherwise.lanes)
        then, otherwise = self.splat(then, lanes), self.splat(otherwise, lanes)
        if then.ref == otherwise.ref:
            return then
        condition = self.splat(condition, lanes)
        text = f"select {condition.typed}, {then.typed}, {otherwise.typed}"
        return self.op(text, then.dtype, lanes, condition, then, otherwise)

    def all_of(self, conditions: Sequence[Value]) -> Value:
        """Return whether every condition holds."""
        lanes = max((c.lanes for c in conditions), default=0)
        total: Value | None = None
        for c in conditions:
            c = self.splat(c, lanes)
            total = c if total is None else self.op(
                f"and {total.typed}, {c.ref}", DType.bool, lanes, total, c
            )  # fmt: skip
        return constant(True, DType.bool, lanes) if total is None else total

    def negated(self, condition: Value) -> Value:
        """Return whether a condition does not hold."""
        one = constant(True, DType.bool, condition.lanes)
        return self.op(f"xor {condition.typed}, {one.ref}", DType.bool, condition.lanes, condition)
