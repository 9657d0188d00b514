"""The builder by which an operator's `lower` facet describes its computation.

    @softmax.lower
    def _(k, x, out, *, axis):
        *i, j = k.axes(x.shape)                 # one index per dimension
        top = k.temporary(x.shape[:-1], x.dtype)
        k.assign(top[i], k.max(x[*i, j], over=j))
        ...
        k.assign(out[*i, j], k.exp(x[*i, j] - top[i]) / total[i])

`k.assign` records one stage over all values of the index symbols that it mentions. The order of the
points is unspecified. A routine runs its statements in the given order:

    with k.routine() as r:
        with r.loop(x.shape[0], "i") as i:
            with r.when(k.lt(x[i], 0.0)):
                r.store(found.at(count[()]), x[i])       # a computed index
                r.store(count[()], count[()] + 1)
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field
from typing import Any

from compiler.compute.computation import Computation, Routine, Stage, axis_of
from compiler.compute.scalar import (
    FUNCTIONS,
    Apply,
    Bits,
    Fetch,
    IndexValue,
    Inside,
    Number,
    Read,
    Reduce,
    Scalar,
    apply,
    convert,
    index_symbols,
    number,
    reduction,
)
from compiler.compute.statements import If, Loop, LoopKind, ScatterStore, Statement, Store, While
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.operator import Array
from compiler.ir.types import DType, TensorType

Indices = Expr | Iterable[Expr]


@dataclass(frozen=True, slots=True, eq=False)
class Handle:
    """A tensor inside a lowering, with elements `handle[i, j]`.

    `value` has the elements if they are known at compile time (parameters such as pads).
    """

    name: str
    type: TensorType
    value: Array | None = None
    extents: Mapping[str, Expr] = field(default_factory=dict)
    """The extent of each index of the lowering."""

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.type.dtype

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes of the axes: numbers, or expressions of open sizes."""
        return self.type.dims

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def __getitem__(self, index: Indices) -> Read:
        flat = _flat(index)
        assert len(flat) == self.rank, f"{self.name} has rank {self.rank}, got {len(flat)} indices"
        return Read(self.name, flat, self.dtype)

    def at(self, *index: Scalar | Expr) -> Fetch:
        """Return the element at computed indices, which are clamped to the bounds."""
        assert len(index) == self.rank, (
            f"{self.name} has rank {self.rank}, got {len(index)} indices"
        )
        return Fetch(self.name, tuple(map(as_index, index)), self.dtype)

    def padded(self, index: Indices, otherwise: float | int | bool = 0) -> Inside | Read:
        """Return the element, or `otherwise` if a computed index is out of bounds.

        Indices that are plain symbols are not tested.
        """
        read = self[index]
        tests = tuple(
            (e, n) for e, n in zip(read.index, self.shape, strict=True) if axis_of(e) is None
        )
        if not tests:
            return read
        return Inside(tests, read, Number(otherwise, self.dtype))

    def broadcast(self, index: Sequence[Expr]) -> Read:
        """Return the element that broadcasting reads for an index of the result."""
        own = index[len(index) - self.rank :]
        return self[tuple(self.repeated(i, n) for i, n in zip(own, self.shape, strict=True))]

    def repeated(self, i: Expr, n: Expr) -> Expr:
        """Return the index that broadcasting reads for index i: 0 on an axis of size 1, else i."""
        if n == 1:
            return 0
        is_whole = isinstance(n, int) or self.extents.get(axis_of(i) or "") == n
        return i if is_whole else affine.minimum(i, n - 1)


def as_index(i: Scalar | Expr) -> Scalar:
    """Convert an index expression to an i64 scalar."""
    if isinstance(i, int | affine.Affine):
        return IndexValue(i, DType.i64)
    return convert(i, DType.i64)


def _flat(index: Any) -> tuple[Expr, ...]:
    if isinstance(index, tuple | list):
        return tuple(e for part in index for e in _flat(part))
    return (index,)


class Lowering:
    """Records the stages of one computation; lower facets call it `k`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.tensors: dict[str, TensorType] = {}
        self.stages: list[Stage | Routine] = []
        self._extents: dict[str, Expr] = {}

    # Tensors

    def input(self, name: str, t: TensorType, value: Array | None = None) -> Handle:
        """Declare an operand."""
        if name not in self.tensors:
            self.inputs.append(name)
            self.tensors[name] = t
        return Handle(name, t, value, self._extents)

    def output(self, name: str, t: TensorType) -> Handle:
        """Declare a result."""
        self.outputs.append(name)
        self.tensors[name] = t
        return Handle(name, t, None, self._extents)

    def temporary(self, shape: Sequence[Expr], dtype: DType, hint: str = "t") -> Handle:
        """Declare a tensor local to the computation."""
        name = hint
        while name in self.tensors:
            name += "_"
        self.tensors[name] = TensorType(dtype, tuple(shape))
        return Handle(name, self.tensors[name], None, self._extents)

    # Indices

    def axis(self, extent: Expr, hint: str = "i") -> Expr:
        """Return a new index over `0 <= i < extent`.

        Its name is in lower case, because names in upper case denote open sizes.
        """
        assert hint.islower(), f"the index {hint!r} could be an open size"
        n = 0
        name = hint
        while name in self._extents:
            n += 1
            name = f"{hint}{n}"
        self._extents[name] = extent if isinstance(extent, affine.Affine) else int(extent)
        return affine.symbol(name)

    def axes(self, shape: Sequence[Expr], hints: str = "ijklmnpqrs") -> list[Expr]:
        """Return one new index per dimension."""
        return [self.axis(n, hints[d % len(hints)]) for d, n in enumerate(shape)]

    # Values

    def number(self, value: Any, dtype: DType) -> Scalar:
        """Return a literal, or a number that depends on open sizes."""
        return number(value, dtype)

    def count(self, sizes: Iterable[Expr], dtype: DType) -> Scalar:
        """Return the product of sizes, as a number."""
        n = affine.product(sizes)
        return number(float(n) if isinstance(n, int) and dtype.is_float else n, dtype)

    def share(self, sizes: Iterable[Expr], dtype: DType) -> Scalar:
        """Return 1 / (product of sizes); NaN if the product is 0."""
        n = affine.product(sizes)
        if isinstance(n, int):
            return Number(1 / n if n else float("nan"), dtype)
        return apply("div", Number(1.0, dtype), IndexValue(n, dtype))

    def index(self, expr: Expr, dtype: DType = DType.i64) -> IndexValue:
        """Convert an index to a number."""
        return IndexValue(expr, dtype)

    def convert(self, x: Scalar, dtype: DType) -> Scalar:
        """Convert to another element type."""
        return convert(x, dtype)

    def bits(self, x: Scalar, dtype: DType) -> Bits:
        """Reinterpret the bits as another element type of the same size."""
        assert x.dtype.nbytes == dtype.nbytes, f"{x.dtype} and {dtype} differ in size"
        return Bits(x, dtype)

    def where(self, condition: Scalar, then: Any, otherwise: Any) -> Apply:
        """Select `then` where the condition holds, else `otherwise`."""
        return apply("select", condition, then, otherwise)

    def inside(self, tests: Sequence[tuple[Expr, Expr]], then: Scalar, otherwise: Any) -> Inside:
        """Select `then` where every `0 <= expr < extent` holds, else `otherwise`."""
        other = otherwise if hasattr(otherwise, "dtype") else Number(otherwise, then.dtype)
        return Inside(tuple(tests), then, other)

    def apply(self, fn: str, *args: Any) -> Apply:
        """Apply a function by its name in `FUNCTIONS`."""
        return apply(fn, *args)

    def __getattr__(self, fn: str) -> Any:
        if fn in FUNCTIONS:
            return lambda *args: apply(fn, *args)
        raise AttributeError(fn)

    def sum(self, body: Scalar, over: Indices) -> Reduce:
        """Sum `body` over all points of the given indices."""
        return self.reduce("add", body, over)

    def reduce(self, combine: str, body: Scalar, over: Indices) -> Reduce:
        """Combine `body` over indices with one of `scalar.COMBINERS`."""
        names = tuple(axis_of(e) or "" for e in _flat(over))
        assert all(names), "reductions run over indices that axis or axes created"
        return Reduce(combine, names, body)

    # Stages

    def assign(self, target: Read, value: Scalar) -> None:
        """Record one stage: the target's element is `value` at every point."""
        inner = reduction(value)
        reduce_axes = inner.axes if inner else ()
        used: dict[str, None] = {}
        for e in target.index:
            used.update(dict.fromkeys(sorted(affine.symbols(e) & self._extents.keys())))
        assert not set(used) & set(reduce_axes), "a reduced index cannot be in the target"
        stray = (index_symbols(value) & self._extents.keys()) - set(used) - set(reduce_axes)
        assert not stray, f"{sorted(stray)} are neither indices of the target nor reduced"
        extents = {a: self._extents[a] for a in (*used, *reduce_axes)}
        self.stages.append(Stage(target.tensor, target.index, value, extents))

    @contextmanager
    def routine(self) -> Generator[RoutineBuilder]:
        """Record statements that run in order, as one stage."""
        builder = RoutineBuilder(self)
        yield builder
        self.stages.append(Routine(builder.statements()))

    def computation(self, origins: tuple[str, ...] = ()) -> Computation:
        """Return the recorded computation."""
        return Computation(
            self.name,
            tuple(self.inputs),
            tuple(self.outputs),
            dict(self.tensors),
            tuple(self.stages),
            origins,
        )


@dataclass
class RoutineBuilder:
    """The recorder of statements; `loop`, `when` and `repeat` are context managers."""

    lowering: Lowering
    _open: list[list[Statement]] = field(default_factory=lambda: [[]])

    def statements(self) -> tuple[Statement, ...]:
        """Return the recorded statements."""
        assert len(self._open) == 1, "a block is still open"
        return tuple(self._open[0])

    def cell(self, dtype: DType, hint: str = "cell") -> Read:
        """Declare a scalar variable, which retains its value until the next store."""
        return self.lowering.temporary((), dtype, hint)[()]

    def store(self, target: Read | Fetch, value: Scalar | float | int | bool) -> None:
        """Store `target = value`; stores out of bounds at computed indices are ignored."""
        scalar = Number(value, target.dtype) if isinstance(value, int | float) else value
        assert scalar.dtype is target.dtype, f"{target} holds {target.dtype}, not {scalar.dtype}"
        kind = Store if isinstance(target, Read) else ScatterStore
        self._open[-1].append(kind(target.tensor, target.index, scalar))  # type: ignore[arg-type]

    @contextmanager
    def loop(
        self, stop: Expr, hint: str = "i", *, start: Expr = 0, kind: LoopKind = "for"
    ) -> Generator[Expr]:
        """Open a loop over `start <= i < stop`; yield the index."""
        index = self.lowering.axis(1, hint)
        name = axis_of(index)
        assert name is not None
        self._open.append([])
        yield index
        self._open[-2].append(Loop(name, start, stop, tuple(self._open.pop()), kind))

    @contextmanager
    def loops(self, shape: Sequence[Expr], hints: str = "ijklmnpqrs") -> Generator[list[Expr]]:
        """Open nested loops, one per axis; yield their indices."""
        indices: list[Expr] = []
        with ExitStack() as stack:
            for d, n in enumerate(shape):
                indices.append(stack.enter_context(self.loop(n, hints[d % len(hints)])))
            yield indices

    @contextmanager
    def when(self, condition: Scalar) -> Generator[None]:
        """Open a conditional block."""
        self._open.append([])
        yield
        self._open[-2].append(If(condition, tuple(self._open.pop())))

    @contextmanager
    def repeat(self, condition: Scalar) -> Generator[None]:
        """Open a while loop, whose condition is tested before each iteration."""
        self._open.append([])
        yield
        self._open[-2].append(While(condition, tuple(self._open.pop())))
