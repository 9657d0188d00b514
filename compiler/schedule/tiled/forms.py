"""Recognition of Winograd convolutions by the form of their stages.

A Winograd convolution has stages for the transformed weights U, the transformed image V, the
products P and the results. A transform multiplies a tile from the left and right by a matrix of
small numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.compute.computation import Computation, Routine, Stage
from compiler.compute.scalar import Apply, Convert, Inside, Number, Read, Reduce, Scalar
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.schedule.indices import substitute
from compiler.schedule.stages.joining import FusedStages

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Tiled:
    """The stages of a Winograd convolution, their positions, and their matrices."""

    parts: range
    weights: Stage
    image: Stage
    product: Stage
    results: FusedStages
    of_weights: Matrix
    of_image: Matrix
    of_result: Matrix

    @property
    def side(self) -> int:
        """The side length of a tile of the image."""
        return len(self.of_image)

    @property
    def outputs(self) -> int:
        """The side length of a tile of results."""
        return len(self.of_result)


@dataclass(frozen=True, slots=True)
class Transform:
    """A transform: `sum over a, b of left(row, a) * right(column, b) * data`."""

    left: Scalar
    right: Scalar
    data: Scalar
    over: tuple[str, str]
    extents: Mapping[str, Expr]


def find_tiled(
    parts: Sequence[FusedStages | Routine], computation: Computation, constants: frozenset[str]
) -> Tiled | None:
    """Find the four stages of a Winograd convolution in a computation."""
    for position in range(len(parts) - 3):
        four = parts[position : position + 4]
        if not any(isinstance(p, Routine) for p in four):
            where = range(position, position + 4)
            found = _tiled(four, where, computation, constants)  # type: ignore[arg-type]
            if found is not None:
                return found
    return None


def _tiled(
    parts: Sequence[FusedStages], where: range, computation: Computation, constants: frozenset[str]
) -> Tiled | None:
    if any(len(p) != 1 for p in parts[:3]):
        return None
    (weights,), (image,), (product,), results = parts
    u, v, y = transform_of(weights), transform_of(image), transform_of(results[0])
    if u is None or v is None or y is None or not _is_product(product, image, weights):
        return None
    w, x, p = u.data, v.data, y.data
    if not (isinstance(w, Read) and w.tensor in constants and _is_only_read_by(w, computation)):
        return None
    read = x.then if isinstance(x, Inside) else x
    if isinstance(read, Convert):  # the image has a smaller type; its tiles are f32
        read = read.arg
    if not (isinstance(read, Read) and isinstance(p, Read) and p.tensor == product.target):
        return None
    m = _outputs(p)
    if m is None or computation.tensors[results[0].target].rank != 4:
        return None
    matrices = [_matrix(t, n) for t, n in ((u, None), (v, None), (y, m))]
    if any(m is None for m in matrices):
        return None
    return Tiled(where, weights, image, product, results, *matrices)  # type: ignore[arg-type]


def transform_of(stage: Stage) -> Transform | None:
    """Return the transform that a stage computes; None for other stages."""
    match stage.reduce:
        case Reduce(
            "add", (a, b), Apply("mul", (Apply("mul", (Inside() as left, Inside() as right)), data))
        ):
            return Transform(left, right, data, (a, b), stage.extents)
        case _:
            return None


def _is_product(stage: Stage, image: Stage, weights: Stage) -> bool:
    match stage.reduce:
        case Reduce("add", (_,), Apply("mul", (Read(v, _, _), Read(u, _, _)))):
            return (v, u) == (image.target, weights.target) and isinstance(stage.value, Reduce)
        case _:
            return False


def _is_only_read_by(w: Read, computation: Computation) -> bool:
    return sum(w.tensor in s.read_tensors for s in computation.stages) == 1


def _outputs(p: Read) -> int | None:
    """Return the side length of result tiles: the divisor of image positions in the read."""
    for e in p.index[-2:]:
        if isinstance(e, affine.Affine) and len(e.terms) == 1:
            atom = e.terms[0][0]
            if isinstance(atom, affine.Apply) and isinstance(atom.b, int):
                return atom.b
    return None


def _matrix(t: Transform, n_rows: int | None) -> Matrix | None:
    """Return the matrix of both factors of a transform; None if the two factors differ."""
    found: list[Matrix] = []
    for factor, over in zip((t.left, t.right), t.over, strict=True):
        (row,) = _indices(factor) - {over}
        rows, columns = n_rows or int(t.extents[row]), int(t.extents[over])
        entries = [
            [substitute(factor, {row: i, over: j}, {}) for j in range(columns)] for i in range(rows)
        ]
        if not all(isinstance(e, Number) for r in entries for e in r):
            return None
        found.append(tuple(tuple(float(e.value) for e in r) for r in entries))  # type: ignore[union-attr]
    return found[0] if found[0] == found[1] else None


def _indices(factor: Scalar) -> set[str]:
    """Return the loop indices in the conditions of a factor."""
    if not isinstance(factor, Inside):
        return set()
    own = {s for e, _ in factor.tests for s in affine.symbols(e)}
    return own | _indices(factor.then) | _indices(factor.otherwise)
