"""Replace f32 products by products of bf16 parts, for machines with matrix tiles.

    x = hi + lo, each a bf16        w = hi + lo, split when the program is built
    x w = hi lo + hi hi + lo hi     lo lo is omitted: it is below the rounding error of lo

Three products replace a single product, on a unit with more than ten times the throughput. A single
loop nest writes the upper and the lower part of the left operand. The sum has an additional
reduction axis over the three products, and its type remains f32. The two parts represent an operand
with a relative error of at most 2^-16; the error of results is below 1e-5 of their scale. Source:
Henry, Tang and Heinecke 2019 (arXiv:1904.06376).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from compiler.compute.computation import Computation, Routine, Stage, axis_of
from compiler.compute.scalar import (
    Apply,
    Convert,
    Inside,
    Number,
    Read,
    Reduce,
    Scalar,
    apply,
    rewrite,
)
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.types import DType, TensorType
from compiler.schedule.policies.tile_products import TILE_ROWS
from compiler.targets.options import CodeOptions

LEFT = (0, 0, 1)
RIGHT = (1, 0, 0)
"""The parts of the left and the right operand in each of the three products: 0 upper, 1 lower."""

FEWEST_COLUMNS = 64
"""The minimum number of columns; each column uses a split element once. The split of an element
costs as much as about 32 products."""

FEWEST_TERMS = 64
"""The minimum number of terms of a sum; shorter sums spend most time on configuring, loading and
storing tiles."""


@dataclass(frozen=True, slots=True)
class _Product:
    """A sum of products of a tensor and a constant."""

    stage: Stage
    reduce: Reduce
    left: Read
    right: Read


def in_parts(
    computation: Computation, constants: frozenset[str], options: CodeOptions
) -> tuple[Computation, frozenset[str]]:
    """Replace products by products of bf16 parts; also return the constants to pack as parts."""
    if not (options.in_parts and options.target.has_bf16_tiles):
        return computation, frozenset()
    tensors = dict(computation.tensors)
    stages: list[Stage | Routine] = []
    split: set[str] = set()
    for stage in computation.stages:
        product = _product(stage, computation, constants)
        if product is None or not _pays(product, computation.tensors):
            stages.append(stage)
            continue
        stages += _split(product, tensors)
        split.add(product.right.tensor)
    return replace(computation, tensors=tensors, stages=tuple(stages)), frozenset(split)


def _product(
    stage: Stage | Routine, computation: Computation, constants: frozenset[str]
) -> _Product | None:
    """Recognise a sum of f32 products with a constant factor that no other stage reads."""
    if isinstance(stage, Routine) or stage.reduce is None or stage.reduce.combine != "add":
        return None
    match stage.reduce.body:
        case Apply("mul", (a, b), DType.f32):
            pairs = ((a, b), (b, a))
        case _:
            return None
    for moving, still in pairs:
        left = _left(moving)
        if not isinstance(still, Read) or left is None:
            continue
        once = sum(still.tensor in s.read_tensors for s in computation.stages) == 1
        here = sum(r.tensor == still.tensor for r in stage.reads) == 1
        if still.tensor in constants and left.tensor not in constants and once and here:
            return _Product(stage, stage.reduce, left, still)
    return None


def _left(s: Scalar) -> Read | None:
    """Return the read of the left operand, with or without padding."""
    match s:
        case Read():
            return s
        case Inside(_, Read() as then, Number(0)):
            return then
        case _:
            return None


def _pays(product: _Product, tensors: Mapping[str, TensorType]) -> bool:
    """Return whether tiles support the product and it has enough rows, columns and terms."""
    stage, left, right = product.stage, product.left, product.right
    t = tensors[left.tensor]
    if not (t.is_static and tensors[right.tensor].is_static and t.rank > 1):
        return False
    if left.dtype is not DType.f32 or right.dtype is not DType.f32:
        return False
    own = {a for e in left.index for a in affine.symbols(e)}
    shared = {a for e in right.index for a in affine.symbols(e)}
    inside = set(product.reduce.axes)
    last = axis_of(left.index[-1] if t.layout.is_plain else left.index[1])
    if last not in inside or affine.symbol(str(last)) not in right.index:
        return False
    sizes = {a: affine.assumed(n) for a, n in stage.extents.items()}

    def n_iterations(axes: set[str]) -> int:
        total = 1
        for a in axes:
            total *= sizes[a]
        return total

    columns = n_iterations(shared - own - inside)
    rows = n_iterations(own - shared - inside)
    terms = n_iterations(own & shared & inside)
    return columns >= FEWEST_COLUMNS and rows >= TILE_ROWS and terms >= FEWEST_TERMS


def _split(product: _Product, tensors: dict[str, TensorType]) -> tuple[Stage, ...]:
    """Return the stages that write the parts, and a stage that sums the products of parts."""
    stage, left, right = product.stage, product.left, product.right
    t, w = tensors[left.tensor], tensors[right.tensor]
    name = f"{left.tensor}_PARTS"
    while name in tensors:
        name += "_"
    part = "part"
    while part in stage.extents:
        part += "_"
    # The upper parts precede the lower parts: within each row, or over all images.
    at = t.rank - 1 if t.layout.is_plain else 0
    dims = (*t.dims[:at], 2, *t.dims[at:]) if at else (2 * t.dims[0], *t.dims[1:])
    tensors[name] = TensorType(DType.bf16, dims, t.layout)

    def place(index: tuple[Expr, ...], which: Expr) -> tuple[Expr, ...]:
        if at:
            return (*index[:at], which, *index[at:])
        return (index[0] + which * t.dims[0], *index[1:])

    axes = {f"i{n}": d for n, d in enumerate(t.dims)}
    point = tuple(map(affine.symbol, axes))
    x = Read(left.tensor, point, DType.f32)
    upper = _rounded(x)
    lower = _rounded(apply("sub", x, Convert(upper, DType.f32)))
    made = [Stage(name, place(point, n), v, axes) for n, v in enumerate((upper, lower))]
    tensors[right.tensor] = TensorType(DType.bf16, (len(RIGHT), *w.dims))
    which = affine.symbol(part)
    moving = Read(name, place(left.index, affine.floordiv(which, 2)), DType.bf16)
    still = Read(right.tensor, (which, *right.index), DType.bf16)

    def change(s: Scalar) -> Scalar | None:
        if s == left:
            return Convert(moving, DType.f32)
        return Convert(still, DType.f32) if s == right else None

    body = rewrite(product.reduce.body, change)
    reduce = replace(product.reduce, axes=(part, *product.reduce.axes), body=body)
    value = rewrite(stage.value, lambda s: reduce if s == product.reduce else None)
    inside = set(product.reduce.axes)
    extents = {a: n for a, n in stage.extents.items() if a not in inside}
    extents |= {part: len(LEFT)} | {a: stage.extents[a] for a in product.reduce.axes}
    return (*made, replace(stage, value=value, extents=extents))


def _rounded(x: Scalar) -> Scalar:
    """Round to the nearest bf16, as processors do."""
    return Convert(apply("flush", x), DType.bf16)
