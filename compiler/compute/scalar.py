"""Scalar expressions: the value of one point of a computation.

Indices are integer expressions (`compiler.ir.affine`), values are scalar expressions. Expressions
are immutable and compare by structure. A stage's value may contain one distinct `Reduce`, possibly
several times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.types import DType

FUNCTIONS: dict[str, int] = {
    # name: number of operands. Operands and result have one element type; comparisons give bool.
    "add": 2, "sub": 2, "mul": 2, "div": 2, "max": 2, "min": 2, "larger": 2,
    "pow": 2, "fmod": 2, "mod": 2,
    "and": 2, "or": 2, "xor": 2, "not": 1, "shl": 2, "shr": 2,
    "eq": 2, "ne": 2, "lt": 2, "le": 2, "gt": 2, "ge": 2,
    "neg": 1, "abs": 1, "sign": 1, "floor": 1, "ceil": 1, "round": 1, "trunc": 1,
    "sqrt": 1, "rsqrt": 1, "exp": 1, "log": 1, "tanh": 1, "sigmoid": 1, "erf": 1,
    "decay": 1, "expm1": 1, "log1p": 1, "normal_cdf": 1, "normal_cdf_tanh": 1,
    "sin": 1, "cos": 1, "tan": 1, "asin": 1, "acos": 1, "atan": 1,
    "sinh": 1, "cosh": 1, "asinh": 1, "acosh": 1, "atanh": 1, "isnan": 1, "isinf": 1,
    "flush": 1, "within": 2,
    "select": 3,  # condition, then, otherwise
}  # fmt: skip
"""The scalar functions, with their numbers of operands.

`max` and `min` propagate NaN. `larger` returns its second operand if this operand is larger than
the first, else the first. As a reduction, `larger` therefore ignores NaN. `round` rounds halves to
even; `mod` has the sign of the divisor, `fmod` the sign of the dividend; integer `div` truncates.
`decay` is exp(x) for a rounded difference x that is NaN or at most 0. The error of the result may
grow by 3e-9 |x|, a tenth of the rounding error of x. `expm1` is exp(x)-1 and `log1p` log(1+x), both
accurate near 0. `normal_cdf` is the normal cumulative distribution function, `normal_cdf_tanh` its
approximation by tanh in GELU. `flush` flushes denormal f32 to 0 of the same sign. `within(x,
bound)` returns x and asserts that its magnitude is at most the literal `bound`.
"""

COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf"}
COMBINERS = {"add", "mul", "max", "min", "larger"}


class _Arithmetic:
    """Python operators on scalars; plain numbers take the type of the other operand."""

    __slots__ = ()

    def __add__(self, o: Any) -> Apply:
        return apply("add", self, o)

    def __radd__(self, o: Any) -> Apply:
        return apply("add", o, self)

    def __sub__(self, o: Any) -> Apply:
        return apply("sub", self, o)

    def __rsub__(self, o: Any) -> Apply:
        return apply("sub", o, self)

    def __mul__(self, o: Any) -> Apply:
        return apply("mul", self, o)

    def __rmul__(self, o: Any) -> Apply:
        return apply("mul", o, self)

    def __truediv__(self, o: Any) -> Apply:
        return apply("div", self, o)

    def __rtruediv__(self, o: Any) -> Apply:
        return apply("div", o, self)

    def __neg__(self) -> Apply:
        return apply("neg", self)


@dataclass(frozen=True, slots=True)
class Read(_Arithmetic):
    """The element of a tensor at a logical index."""

    tensor: str
    index: tuple[Expr, ...]
    dtype: DType

    def __str__(self) -> str:
        return f"{self.tensor}[{', '.join(map(str, self.index))}]"


@dataclass(frozen=True, slots=True)
class Fetch(_Arithmetic):
    """The element of a tensor at a computed index, one i64 per axis.

    Indices are clamped to the bounds of their axes, so every address is valid; lowerings with other
    semantics add a `select`.
    """

    tensor: str
    index: tuple[Scalar, ...]
    dtype: DType

    def __str__(self) -> str:
        return f"fetch({', '.join([self.tensor, *map(str, self.index)])})"


@dataclass(frozen=True, slots=True)
class Number(_Arithmetic):
    """A literal number of an element type."""

    value: float | int | bool
    dtype: DType

    def __str__(self) -> str:
        return f"{self.dtype}({self.value!r})"


@dataclass(frozen=True, slots=True)
class IndexValue(_Arithmetic):
    """A loop index converted to a number."""

    expr: Expr
    dtype: DType

    def __str__(self) -> str:
        return f"index_{self.dtype}({self.expr})"


@dataclass(frozen=True, slots=True)
class Apply(_Arithmetic):
    """A function of `FUNCTIONS` applied to scalars."""

    fn: str
    args: tuple[Scalar, ...]
    dtype: DType

    def __str__(self) -> str:
        return f"{self.fn}({', '.join(map(str, self.args))})"


@dataclass(frozen=True, slots=True)
class Convert(_Arithmetic):
    """A conversion to another element type. Floats truncate to integers; bool is `!= 0`."""

    arg: Scalar
    dtype: DType

    def __str__(self) -> str:
        return f"to_{self.dtype}({self.arg})"


@dataclass(frozen=True, slots=True)
class Bits(_Arithmetic):
    """A bitcast to another element type of the same size in memory."""

    arg: Scalar
    dtype: DType

    def __str__(self) -> str:
        return f"bits_{self.dtype}({self.arg})"


@dataclass(frozen=True, slots=True)
class Inside(_Arithmetic):
    """`then` where every `0 <= expr < extent` holds, else `otherwise`.

    The condition guards the reads in `then`.
    """

    tests: tuple[tuple[Expr, Expr], ...]
    then: Scalar
    otherwise: Scalar

    @property
    def dtype(self) -> DType:
        """Element type of both branches."""
        return self.then.dtype

    def __str__(self) -> str:
        tests = ", ".join(f"({e}, {n})" for e, n in self.tests)
        return f"inside([{tests}], {self.then}, {self.otherwise})"


@dataclass(frozen=True, slots=True)
class Reduce(_Arithmetic):
    """The combination of `body` over all points of some axes, by one of `COMBINERS`."""

    combine: str
    axes: tuple[str, ...]
    body: Scalar

    @property
    def dtype(self) -> DType:
        """Element type of the body."""
        return self.body.dtype

    def __str__(self) -> str:
        return f"reduce_{self.combine}([{', '.join(self.axes)}], {self.body})"


@dataclass(frozen=True, slots=True)
class Accumulated(_Arithmetic):
    """The placeholder for the result of a reduction in a stage that a schedule splits."""

    dtype: DType

    def __str__(self) -> str:
        return f"accumulated_{self.dtype}()"


Scalar = Read | Fetch | Number | IndexValue | Apply | Convert | Bits | Inside | Reduce | Accumulated


def apply(fn: str, *args: Any) -> Apply:
    """Apply a function to scalars and plain numbers, which take the type of the first scalar."""
    assert FUNCTIONS.get(fn) == len(args), f"{fn} does not take {len(args)} operands"
    typed = args[1:] if fn == "select" else args
    dtype = next(cast(Scalar, a).dtype for a in typed if isinstance(a, _Arithmetic))
    scalars = tuple(
        cast(Scalar, a) if isinstance(a, _Arithmetic) else number(a, dtype) for a in args
    )
    for a in scalars[1:] if fn == "select" else scalars:
        assert a.dtype is dtype, f"{fn} cannot combine {dtype} and {a.dtype}; convert one operand"
    return Apply(fn, scalars, DType.bool if fn in COMPARISONS else dtype)


def number(value: float | int | bool | affine.Affine, dtype: DType) -> Number | IndexValue:
    """Return a literal, or the `IndexValue` of an expression of open sizes."""
    if isinstance(value, affine.Affine):
        return IndexValue(value, dtype)
    return Number(value, dtype)


def convert(arg: Scalar, dtype: DType) -> Scalar:
    """Convert a scalar to another element type, unless it has that type."""
    return arg if arg.dtype is dtype else Convert(arg, dtype)


def children(s: Scalar) -> tuple[Scalar, ...]:
    """Return the direct operands."""
    match s:
        case Apply(_, args):
            return args
        case Convert(arg) | Bits(arg):
            return (arg,)
        case Fetch(_, index):
            return index
        case Inside(_, then, otherwise):
            return (then, otherwise)
        case Reduce(_, _, body):
            return (body,)
        case _:
            return ()


_LEAVES = (Read, Number, IndexValue, Accumulated)


def walk(s: Scalar) -> Iterator[Scalar]:
    """Yield the scalar and all nested scalars."""
    pending = [s]
    while pending:
        top = pending.pop()
        yield top
        if not isinstance(top, _LEAVES):
            pending.extend(top.args if isinstance(top, Apply) else children(top))


def rewrite(s: Scalar, change: Callable[[Scalar], Scalar | None]) -> Scalar:
    """Replace nested scalars, outermost first; a scalar returned by `change` is not traversed."""
    changed = change(s)
    if changed is not None:
        return changed
    if isinstance(s, _LEAVES):
        return s
    match s:
        case Apply(fn, args, dtype):
            return Apply(fn, tuple([rewrite(a, change) for a in args]), dtype)
        case Convert(arg, dtype):
            return Convert(rewrite(arg, change), dtype)
        case Bits(arg, dtype):
            return Bits(rewrite(arg, change), dtype)
        case Fetch(tensor, index, dtype):
            return Fetch(tensor, tuple(rewrite(i, change) for i in index), dtype)
        case Inside(tests, then, otherwise):
            return Inside(tests, rewrite(then, change), rewrite(otherwise, change))
        case Reduce(combine, axes, body):
            return Reduce(combine, axes, rewrite(body, change))
        case _:
            return s


NO_NAMES: Mapping[str, str] = {}


def substitute(
    s: Scalar, values: Mapping[str, Expr], tensors: Mapping[str, str] = NO_NAMES
) -> Scalar:
    """Substitute index symbols; only plain symbols may replace the symbols of reduction axes.

    `tensors` renames tensors.
    """

    def change(part: Scalar) -> Scalar | None:
        match part:
            case Read(tensor, index, dtype):
                place = tuple([affine.substitute(e, values) for e in index])
                return Read(tensors.get(tensor, tensor), place, dtype)
            case Apply() | Number():
                return None
            case IndexValue(expr, dtype):
                return IndexValue(affine.substitute(expr, values), dtype)
            case Fetch(tensor, index, dtype) if tensor in tensors:
                inner = tuple(rewrite(i, change) for i in index)
                return Fetch(tensors[tensor], inner, dtype)
            case Inside(tests, then, otherwise):
                return Inside(
                    tuple(
                        (affine.substitute(e, values), affine.substitute(n, values))
                        for e, n in tests
                    ),
                    rewrite(then, change),
                    rewrite(otherwise, change),
                )
            case Reduce(combine, axes, body):
                renamed = tuple(str(values.get(a, a)) for a in axes)
                return Reduce(combine, renamed, rewrite(body, change))
            case _:
                return None

    return rewrite(s, change)


def reads(s: Scalar) -> list[Read]:
    """Return all reads, left to right."""
    found = [part for part in walk(s) if isinstance(part, Read)]
    return found[::-1]


def fetches(s: Scalar) -> list[Fetch]:
    """Return all data-dependent reads."""
    return [part for part in walk(s) if isinstance(part, Fetch)]


def renamed_tensors(s: Scalar, names: Mapping[str, str]) -> Scalar:
    """Rename tensors in all accesses."""
    return substitute(s, {}, names)


def reduction(s: Scalar) -> Reduce | None:
    """Return the reduction in a scalar, if any."""
    return next((part for part in walk(s) if isinstance(part, Reduce)), None)


def index_symbols(value: Scalar) -> set[str]:
    """Return the symbols in all indices, bounds and index values."""
    found: set[str] = set()
    for part in walk(value):
        if isinstance(part, Read):
            for e in part.index:
                found |= affine.symbols(e)
        elif isinstance(part, IndexValue):
            found |= affine.symbols(part.expr)
        elif isinstance(part, Inside):
            for e, _ in part.tests:
                found |= affine.symbols(e)
    return found
