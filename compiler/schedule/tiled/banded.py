"""The schedule of Winograd convolutions: each band of tile rows passes all stages in the cache.

A Winograd convolution has stages for the transformed weights, the transformed image, the products
and the results. If the stages ran one after another, the transformed image and the products would
pass through memory; each is larger than the image. In the schedule below, the stages share a loop
over bands of tile rows:

    for band {
      image rows of the band -> V           additions in registers, lanes over channels
      P = V times U, one product for each element of a tile   the policy of contractions
      P -> result rows of the band          additions in registers, then the epilogue
    }

V and P have the size of one band. The transformed weights U are computed at compile time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from compiler.compute.computation import Computation, Stage
from compiler.compute.scalar import Inside, Number, Read, Reduce, Scalar, rewrite
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.types import DType, Layout, TensorType
from compiler.loops.nodes import Buffer, Statement, Store
from compiler.schedule.indices import substitute
from compiler.schedule.language.call import Line
from compiler.schedule.nest import Nest
from compiler.schedule.operands.packing import Packing
from compiler.schedule.tiled.bands import LANE, Bands, Blocks, Body, band_rows
from compiler.schedule.tiled.forms import Matrix, Tiled, Transform, transform_of
from compiler.schedule.writing.halo import zero_halo
from compiler.schedule.writing.physical import nest_of, physical
from compiler.schedule.writing.realize import Realizer
from compiler.targets.options import CodeOptions

Place = tuple[Expr, Expr, Expr, int]
"""Tile row, tile column, block of channels, and the first channel of a vector in this block."""

Finish = Callable[[int, int, Scalar], list[Statement]]
"""Converts an entry of a transformed tile to statements."""


@dataclass(frozen=True, slots=True)
class Banded:
    """The statements of a Winograd convolution; they replace the `parts` of a computation.

    `replaced` is the temporary that the packed weights replace; `shapes` has new buffer types.
    """

    parts: range
    replaced: str
    statements: tuple[Statement, ...]
    shapes: Mapping[str, tuple[Expr, ...]]
    packings: Mapping[str, Packing]
    lines: tuple[Line, ...]


def in_bands(
    found: Tiled,
    computation: Computation,
    options: CodeOptions,
    realizer: Realizer,
    shape: Callable[[str, Nest], Nest],
) -> Banded | None:
    """Emit the loops of a Winograd convolution; `shape` applies the moves to the products' nest.

    Return None if lanes do not run over channels, or the weights are not packed.
    """
    source, target = found.image.reads[0].tensor, found.results[0].target
    blocks = [computation.tensors[t].layout.block for t in (source, target)]
    if 1 in blocks:
        return None
    lanes = min(options.target.lanes(DType.f32.nbytes), *blocks)
    return _Writer(found, computation, options, realizer, lanes).banded(shape)


class _Writer:
    """Emits one Winograd convolution."""

    def __init__(
        self,
        found: Tiled,
        computation: Computation,
        options: CodeOptions,
        realizer: Realizer,
        lanes: int,
    ) -> None:
        self.found, self.realizer, self.lanes = found, realizer, lanes
        self.tensors = computation.tensors
        self.source = found.image.reads[0].tensor
        self.target = found.results[0].target
        y, x = self.tensors[self.target], self.tensors[self.source]
        n_images, self.n_outputs, *self.sizes = y.static_shape
        self.n_channels = x.static_shape[1]
        rows, columns = (-(-n // found.outputs) for n in self.sizes)
        self.blocks = {self.source: x.layout.block, self.target: y.layout.block}
        channels = self.n_channels, self.n_outputs
        l2 = options.target.l2_bytes
        height = band_rows(rows, columns, channels, found.side, l2, options.threads)
        self.bands = Bands(n_images, (rows, columns), height, lanes)
        self.inner = {
            found.image.target: self._held(self.n_channels, x.layout.block),
            found.product.target: self._held(self.n_outputs, y.layout.block),
        }

    def banded(self, shape: Callable[[str, Nest], Nest]) -> Banded | None:
        """Emit the convolution; None if the weights are not packed."""
        product = self._product(shape)
        if product is None:
            return None
        nest, packing = product
        body = (*self._transformed_image(), *self.realizer.realize(nest), *self._results())
        statements = (*self._halo, *self.bands.over_images(body))
        shapes = {name: t.layout.physical_shape(t.dims) for name, t in self.inner.items()}
        (weights,) = packing
        lines = tuple(Line(nest.target, call) for call in nest.moves)
        return Banded(
            self.found.parts,
            self.found.weights.target,
            statements,
            {**shapes, weights: packing[weights].shape},
            packing,
            lines,
        )

    def _held(self, n_channels: int, block: int) -> TensorType:
        """Return the type of V or P, with an odd number of vectors between elements of a tile.

        If the number of vectors were a power of two, all elements would map to a few cache sets.
        """
        n_blocks = -(-n_channels // block) | 1
        return TensorType(
            DType.f32, (self.found.side**2, n_blocks * block, self.bands.n_tiles | 1), Layout(block)
        )

    # The products

    def _product(
        self, shape: Callable[[str, Nest], Nest]
    ) -> tuple[Nest, Mapping[str, Packing]] | None:
        """Emit the products of a band: one matrix product per element of a tile."""
        found = self.found
        w = found.weights.reads[0].tensor
        image, product = found.image.target, found.product.target
        n_places, block = found.side**2, self.blocks[self.target]
        n_outputs = -(-self.n_outputs // block) * block  # packed weights are padded with zeros
        types = {**self.inner, w: TensorType(DType.f32, (n_places, n_outputs, self.n_channels))}
        place, o, tile, i = map(affine.symbol, ("place", "o", "tile", "i"))
        term = Read(image, (place, i, tile), DType.f32) * Read(w, (place, o, i), DType.f32)
        stage = Stage(
            product,
            (place, o, tile),
            Reduce("add", ("i",), term),
            {"place": n_places, "o": n_outputs, "tile": self.bands.n_tiles, "i": self.n_channels},
        )
        packable = frozenset({w})
        nest = shape(product, replace(nest_of(stage, types), packable=packable))
        packing = nest.packings.get(w)
        if packing is None:
            return None
        return nest, {w: replace(packing, transform=found.of_weights)}

    # The transforms

    def _transformed_image(self) -> Body:
        """Emit the transformed image V of the band: each tile of each block of channels."""
        side, data = self.found.side, self.found.image
        held = self.realizer.register(DType.f32, (side * side, self.lanes))
        transform = transform_of(data)
        assert transform is not None, "found before"
        _, _, i, n, r, c = data.axes
        dy, dx = transform.over

        def tile(row: Expr, column: Expr, block: Expr, first: int) -> list[Statement]:
            channel = block * self.blocks[self.source] + first + LANE
            at = {n: self.bands.image, i: channel, r: row, c: column}

            def element(y: int, x: int) -> Scalar:
                return self._element(transform.data, {**at, dy: y, dx: x})

            def place(number: int) -> tuple[Expr, ...]:
                return self._place(data.target, number, (row, column, block, first)).index

            columns = [[element(y, x) for y in range(side)] for x in range(side)]
            return self._separable(
                self.found.of_image,
                columns,
                held,
                lambda s, t, value: [Store(data.target, place(s * side + t), value)],
            )

        last_row = self._reaches_behind(transform, r, dy, self.bands.rows)
        last_column = self._reaches_behind(transform, c, dx, self.bands.columns)
        size = self.blocks[self.source]
        blocks = Blocks(-(-self.n_channels // size) * size, size)
        return self.bands.over_tiles(blocks, (last_row, last_column), tile)

    def _results(self) -> Body:
        """Emit the results of the band: transform each tile of P and apply the epilogue."""
        side, m = self.found.side, self.found.outputs
        held = self.realizer.register(DType.f32, (m * side, self.lanes))
        done = self.realizer.register(DType.f32, (m * m, self.lanes))
        nest = self._result_nest
        n, o, y, x = self.found.results[0].axes
        product = self.found.product.target
        own = nest.reductions[0]

        def tile(row: Expr, column: Expr, block: Expr, first: int) -> list[Statement]:
            lengths = self._lengths(row, 0), self._lengths(column, 1)
            place = (row, column, block, first)
            columns = [
                [self._place(product, s * side + t, place) for s in range(side)]
                for t in range(side)
            ]
            channel = block * self.blocks[self.target] + first + LANE

            def finish(a: int, b: int, value: Scalar) -> list[Statement]:
                at = {n: self.bands.image, o: channel, y: row * m + a, x: column * m + b}
                result = Read(done.name, (a * m + b, LANE), DType.f32)
                stores: list[Statement] = [Store(done.name, result.index, value)]
                for each in nest.results:
                    outline = rewrite(each.value, lambda s: result if s == own else None)
                    index = tuple(self._settled_index(e, at) for e in each.index)
                    stores.append(Store(each.target, index, self._settled(outline, at)))
                return stores

            return self._separable(self.found.of_result, columns, held, finish, lengths)

        height, width = self.sizes
        blocks = Blocks(self.n_outputs, self.blocks[self.target])
        return self.bands.over_tiles(blocks, (height % m != 0, width % m != 0), tile)

    def _lengths(self, tile: Expr, axis: int) -> int:
        """Return the number of results of a tile along an axis; the last tile may have fewer."""
        m, n = self.found.outputs, self.sizes[axis]
        return n % m if n % m and tile == -(-n // m) - 1 else m

    @property
    def _result_nest(self) -> Nest:
        return reduce(Nest.joined, [nest_of(s, self.tensors) for s in self.found.results])

    @property
    def _halo(self) -> tuple[Statement, ...]:
        nest = self._result_nest
        return tuple(s for b in nest.results if b.zero_halo for s in zero_halo(nest, b.target))

    def _separable(
        self,
        matrix: Matrix,
        columns: Sequence[Sequence[Scalar]],
        held: Buffer,
        finish: Finish,
        lengths: tuple[int, int] | None = None,
    ) -> list[Statement]:
        """Compute `matrix * data * matrix'`: columns into registers, then rows of the result."""
        heights, widths = lengths or (len(matrix), len(matrix))
        n_columns = len(columns)
        statements: list[Statement] = [
            Store(held.name, (s * n_columns + x, LANE), _combination(matrix[s], column))
            for x, column in enumerate(columns)
            for s in range(heights)
        ]
        for s in range(heights):
            row = [Read(held.name, (s * n_columns + x, LANE), DType.f32) for x in range(n_columns)]
            for t in range(widths):
                statements += finish(s, t, _combination(matrix[t], row))
        return statements

    # Places

    def _place(self, tensor: str, number: int, at: Place) -> Read:
        """Return the read of V or P in a lane; `number` is the element's position in the tile."""
        row, column, block, first = at
        index = (number, block, self.bands.tile(row, column), LANE + first)
        return Read(tensor, index, DType.f32)

    def _settled(self, value: Scalar, at: Mapping[str, Expr]) -> Scalar:
        return substitute(value, at, self.bands.ranges)

    def _settled_index(self, e: Expr, at: Mapping[str, Expr]) -> Expr:
        return affine.simplify(affine.substitute(e, at), self.bands.ranges)

    def _element(self, data: Scalar, at: Mapping[str, Expr]) -> Scalar:
        """Return an element of the image, or 0 beyond its border."""
        return physical(self._settled(data, at), self.tensors, self.bands.ranges, {})

    def _reaches_behind(self, transform: Transform, axis: str, tap: str, n_tiles: int) -> bool:
        """Return whether the last tile along an axis reads beyond the halo of the image."""
        self.bands.ranges["tile"] = (0, n_tiles - 1)
        others = {a: 0 for a in transform.extents}
        at = {**others, axis: affine.symbol("tile"), tap: self.found.side - 1}
        return n_tiles > 1 and isinstance(self._element(transform.data, at), Inside)


def _combination(factors: Sequence[float], values: Sequence[Scalar]) -> Scalar:
    """Return the sum of products of values and small numbers, with the fewest multiplications."""
    terms = [(f, v) for f, v in zip(factors, values, strict=True) if f and not _is_zero(v)]
    if not terms:
        return Number(0.0, DType.f32)
    terms.sort(key=lambda term: (term[0] != 1, abs(term[0]) == 1))
    (factor, value), *others = terms
    total = value if factor == 1 else value * factor
    for factor, value in others:
        if abs(factor) == 1:
            total = total + value if factor > 0 else total - value
        else:
            total = total + value * factor
    return total


def _is_zero(value: Scalar) -> bool:
    return isinstance(value, Number) and value.value == 0
