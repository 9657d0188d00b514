"""The schedule of convolutions in tiles: bands of tile rows go through all stages while in cache.

Such a computation has stages for the transformed weights, the transformed image, the products and
the results. Run one after the other, they would move the transformed image and the products, each
larger than the image, through memory. Here they share the loop over bands of tile rows:

    for band {
      image rows of the band -> V           additions in registers, lanes over channels
      P = V times U, one product for each place of a tile     the policy of contractions
      P -> result rows of the band          additions in registers, then what follows the sum
    }

V and P hold one band. The transformed weights U are a constant: the stage that makes them is run
at compile time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from compiler.compute.computation import Computation, Routine, Stage
from compiler.compute.scalar import Apply, Inside, Number, Read, Reduce, Scalar, rewrite
from compiler.ir import affine
from compiler.ir.affine import Expr, Range
from compiler.ir.types import DType, Layout, TensorType
from compiler.loops.nodes import Buffer, Loop, LoopKind, Statement, Store
from compiler.schedule.halo import zero_halo
from compiler.schedule.indices import substitute
from compiler.schedule.joining import Joint
from compiler.schedule.language.call import Line
from compiler.schedule.nest import Nest
from compiler.schedule.packing import Packing
from compiler.schedule.physical import nest_of, physical
from compiler.schedule.realize import Realizer
from compiler.targets.options import CodeOptions

Matrix = tuple[tuple[float, ...], ...]
Body = tuple[Statement, ...]

Place = tuple[Expr, Expr, Expr, int]
"""Tile row, tile column, block of channels, and the first channel of a vector in it."""

MakeTile = Callable[[Expr, Expr, Expr, int], list[Statement]]
"""The statements of one tile at a place."""

Finish = Callable[[int, int, Scalar], list[Statement]]
"""What becomes of an entry of a transformed tile."""

_LANE = affine.symbol("lane")

PRODUCTS_PER_CYCLE = 32
FAR_BYTES_PER_CYCLE = 10
"""What comes from behind the second cache level (measured: 7 to 15)."""

MEETING_CYCLES = 20_000
"""What it takes until all threads have ended a loop that they share, and the next one begins."""

LEAST_TILES = 7
"""Fewer rows in a register tile take as long: sums wait for each other."""


@dataclass(frozen=True, slots=True)
class Tiled:
    """The stages of a convolution in tiles, which parts they are, and the matrices in them."""

    parts: range
    weights: Stage
    image: Stage
    product: Stage
    results: Joint
    of_weights: Matrix
    of_image: Matrix
    of_result: Matrix

    @property
    def side(self) -> int:
        """The side of a tile of the image."""
        return len(self.of_image)

    @property
    def outputs(self) -> int:
        """The side of a tile of results."""
        return len(self.of_result)


@dataclass(frozen=True, slots=True)
class Banded:
    """What a convolution in tiles becomes, in place of some parts of its computation.

    `replaced` is the temporary that the packed weights stand for, `shapes` has what buffers became.
    """

    parts: range
    replaced: str
    statements: tuple[Statement, ...]
    shapes: Mapping[str, tuple[Expr, ...]]
    packings: Mapping[str, Packing]
    lines: tuple[Line, ...]


# Finding them


def find_tiled(
    parts: Sequence[Joint | Routine], computation: Computation, constants: frozenset[str]
) -> Tiled | None:
    """The four stages of a convolution in tiles among the stages of a computation."""
    for position in range(len(parts) - 3):
        four = parts[position : position + 4]
        if not any(isinstance(p, Routine) for p in four):
            where = range(position, position + 4)
            found = _tiled(four, where, computation, constants)  # type: ignore[arg-type]
            if found is not None:
                return found
    return None


def _tiled(
    parts: Sequence[Joint], where: range, computation: Computation, constants: frozenset[str]
) -> Tiled | None:
    if any(len(p) != 1 for p in parts[:3]):
        return None
    (weights,), (image,), (product,), results = parts
    u, v, y = _transform(weights), _transform(image), _transform(results[0])
    if u is None or v is None or y is None or not _is_product(product, image, weights):
        return None
    w, x, p = u.data, v.data, y.data
    if not (isinstance(w, Read) and w.tensor in constants and _is_only_read_by(w, computation)):
        return None
    read = x.then if isinstance(x, Inside) else x
    if not (isinstance(read, Read) and isinstance(p, Read) and p.tensor == product.target):
        return None
    m = _outputs(p)
    if m is None or computation.tensors[results[0].target].rank != 4:
        return None
    matrices = [_matrix(t, n) for t, n in ((u, None), (v, None), (y, m))]
    if any(m is None for m in matrices):
        return None
    return Tiled(where, weights, image, product, results, *matrices)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class _Transform:
    """`sum over a, b of left(row, a) * right(column, b) * data`."""

    left: Scalar
    right: Scalar
    data: Scalar
    over: tuple[str, str]
    extents: Mapping[str, Expr]


def _transform(stage: Stage) -> _Transform | None:
    match stage.reduce:
        case Reduce(
            "add", (a, b), Apply("mul", (Apply("mul", (Inside() as left, Inside() as right)), data))
        ):
            return _Transform(left, right, data, (a, b), stage.extents)
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
    """The size of the result tiles: by what the place in the image is divided."""
    for e in p.index[-2:]:
        if isinstance(e, affine.Affine) and len(e.terms) == 1:
            atom = e.terms[0][0]
            if isinstance(atom, affine.Apply) and isinstance(atom.b, int):
                return atom.b
    return None


def _matrix(t: _Transform, n_rows: int | None) -> Matrix | None:
    """The entries of both factors, which have to be the same numbers; None when they are not."""
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
    """The indices that a factor's choices look at."""
    if not isinstance(factor, Inside):
        return set()
    own = {s for e, _ in factor.tests for s in affine.symbols(e)}
    return own | _indices(factor.then) | _indices(factor.otherwise)


# Writing them as loops


@dataclass(frozen=True, slots=True)
class Blocks:
    """Channels in blocks of a size."""

    n_channels: int
    size: int

    @property
    def last(self) -> int:
        """Channels of the last block where it is not whole."""
        return self.n_channels % self.size


def band_rows(
    n_rows: int,
    n_columns: int,
    channels: tuple[int, int],
    side: int,
    l2: int,
    threads: int = 1,
) -> int:
    """How many rows of tiles go together, by a model of the cycles that a choice takes.

    Every band reads all weights again, so bands are high where these do not stay near; and low
    where the transformed image and the products of a band would not. Threads share the loops of a
    band and meet after each, so bands are higher for them. Shapes: `channels` are those read and
    made. Units: `l2` in bytes of the second cache level of a core.
    """
    n_read, n_made = channels
    weights = side**2 * n_read * n_made * 4
    far_weights, near = max(weights - l2 // 2, 0), l2 * threads
    meetings = 3 * MEETING_CYCLES if threads > 1 else 0

    def held(rows: int) -> int:
        return side**2 * rows * n_columns * (n_read + n_made) * 4

    def cycles(rows: int) -> float:
        n_bands, n_tiles = -(-n_rows // rows), rows * n_columns
        products = side**2 * max(n_tiles, LEAST_TILES) * n_read * n_made / PRODUCTS_PER_CYCLE
        far = far_weights + (2 * held(rows) if held(rows) > near // 2 else 0)
        return n_bands * ((products + far / FAR_BYTES_PER_CYCLE) / threads + meetings)

    candidates = [n for n in range(1, n_rows + 1) if n == 1 or held(n) <= 2 * near]
    return min(candidates, key=lambda rows: (round(cycles(rows)), rows))


def in_bands(
    found: Tiled,
    computation: Computation,
    options: CodeOptions,
    realizer: Realizer,
    shape: Callable[[str, Nest], Nest],
) -> Banded | None:
    """The loops of a convolution in tiles, of which `shape` makes the products' moves.

    None where lanes do not run over channels, or the weights are not packed.
    """
    source, target = found.image.reads[0].tensor, found.results[0].target
    blocks = [computation.tensors[t].layout.block for t in (source, target)]
    if 1 in blocks:
        return None
    lanes = min(options.target.lanes(DType.f32.nbytes), *blocks)
    return _Writer(found, computation, options, realizer, lanes).banded(shape)


class _Writer:
    """Writes one convolution in tiles."""

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
        self.n_images, self.n_outputs, *self.sizes = y.static_shape
        self.n_channels = x.static_shape[1]
        self.rows, self.columns = (-(-n // found.outputs) for n in self.sizes)
        self.blocks = {self.source: x.layout.block, self.target: y.layout.block}
        channels = self.n_channels, self.n_outputs
        l2 = options.target.l2_bytes
        self.band = band_rows(self.rows, self.columns, channels, found.side, l2, options.threads)
        self.n_bands = -(-self.rows // self.band)
        self.n_tiles = self.band * self.columns
        self.inner = {
            found.image.target: self._held(self.n_channels, x.layout.block),
            found.product.target: self._held(self.n_outputs, y.layout.block),
        }
        self.ranges: dict[str, Range] = {
            "image": (0, self.n_images - 1),
            "band": (0, self.n_bands - 1),
            "lane": (0, lanes - 1),
        }

    def banded(self, shape: Callable[[str, Nest], Nest]) -> Banded | None:
        """Everything."""
        product = self._product(shape)
        if product is None:
            return None
        nest, packing = product
        body = (*self._transformed_image(), *self.realizer.realize(nest), *self._results())
        bands = _loop("band", self.n_bands, body)
        statements = (*self._halo, *_loop("image", self.n_images, bands))
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
        """The type of V or P. A tile's places lie an odd number of vectors apart.

        With powers of two between them they would all fall into a few sets of the cache.
        """
        n_blocks = -(-n_channels // block) | 1
        return TensorType(
            DType.f32, (self.found.side**2, n_blocks * block, self.n_tiles | 1), Layout(block)
        )

    # The products

    def _product(
        self, shape: Callable[[str, Nest], Nest]
    ) -> tuple[Nest, Mapping[str, Packing]] | None:
        """The products of a band: as many matrix products as a tile has places."""
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
            {"place": n_places, "o": n_outputs, "tile": self.n_tiles, "i": self.n_channels},
        )
        packable = frozenset({w})
        nest = shape(product, replace(nest_of(stage, types), packable=packable))
        packing = nest.packings.get(w)
        if packing is None:
            return None
        return nest, {w: replace(packing, transform=found.of_weights)}

    # The transforms

    def _transformed_image(self) -> Body:
        """V of the band: each tile of each block of channels."""
        side, data = self.found.side, self.found.image
        held = self.realizer.register(DType.f32, (side * side, self.lanes))
        transform = _transform(data)
        assert transform is not None, "found before"
        _, _, i, n, r, c = data.axes
        dy, dx = transform.over

        def tile(row: Expr, column: Expr, block: Expr, first: int) -> list[Statement]:
            channel = block * self.blocks[self.source] + first + _LANE
            at = {n: self._image, i: channel, r: row, c: column}

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

        last_row = self._reaches_behind(transform, r, dy, self.rows)
        last_column = self._reaches_behind(transform, c, dx, self.columns)
        size = self.blocks[self.source]
        blocks = Blocks(-(-self.n_channels // size) * size, size)
        return self._over_tiles(blocks, (last_row, last_column), tile)

    def _results(self) -> Body:
        """The results of the band: each tile of P becomes elements, and what follows is done."""
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
            channel = block * self.blocks[self.target] + first + _LANE

            def finish(a: int, b: int, value: Scalar) -> list[Statement]:
                at = {n: self._image, o: channel, y: row * m + a, x: column * m + b}
                result = Read(done.name, (a * m + b, _LANE), DType.f32)
                stores: list[Statement] = [Store(done.name, result.index, value)]
                for each in nest.results:
                    outline = rewrite(each.value, lambda s: result if s == own else None)
                    index = tuple(self._settled_index(e, at) for e in each.index)
                    stores.append(Store(each.target, index, self._settled(outline, at)))
                return stores

            return self._separable(self.found.of_result, columns, held, finish, lengths)

        height, width = self.sizes
        blocks = Blocks(self.n_outputs, self.blocks[self.target])
        return self._over_tiles(blocks, (height % m != 0, width % m != 0), tile)

    def _lengths(self, tile: Expr, axis: int) -> int:
        """How many results a tile has along an axis: fewer in the last one."""
        m, n = self.found.outputs, self.sizes[axis]
        return n % m if n % m and tile == -(-n // m) - 1 else m

    @property
    def _image(self) -> Expr:
        return affine.symbol("image") if self.n_images > 1 else 0

    @property
    def _band(self) -> Expr:
        return affine.symbol("band") if self.n_bands > 1 else 0

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
        """`matrix * data * matrix'`: columns into registers, then each row of what came out."""
        heights, widths = lengths or (len(matrix), len(matrix))
        n_columns = len(columns)
        statements: list[Statement] = [
            Store(held.name, (s * n_columns + x, _LANE), _combination(matrix[s], column))
            for x, column in enumerate(columns)
            for s in range(heights)
        ]
        for s in range(heights):
            row = [Read(held.name, (s * n_columns + x, _LANE), DType.f32) for x in range(n_columns)]
            for t in range(widths):
                statements += finish(s, t, _combination(matrix[t], row))
        return statements

    def _over_tiles(self, blocks: Blocks, last: tuple[bool, bool], tile: MakeTile) -> Body:
        """Loops over blocks of channels and the tiles of a band.

        `last` says whether the last row and the last column of tiles are written apart.
        """
        statements: list[Statement] = []
        n_whole = blocks.n_channels // blocks.size
        if n_whole:
            body = self._rows(_count("block", n_whole), blocks.size, last, tile)
            statements += _loop("block", n_whole, body, "parallel")
        if blocks.n_channels % blocks.size:
            statements += self._rows(n_whole, blocks.last, last, tile)
        return tuple(statements)

    def _rows(self, block: Expr, n_lanes: int, last: tuple[bool, bool], tile: MakeTile) -> Body:
        """The tile rows of a band, for `n_lanes` channels of a block."""
        apart = last[0] and self.rows > 1
        n_whole = self.rows - apart
        start = self._band * self.band
        stop = start + self.band
        if n_whole < self.n_bands * self.band:
            stop = affine.minimum(stop, n_whole)
        self.ranges["row"] = (0, n_whole - 1)
        is_loop = max(n_whole, self.n_bands) > 1
        body = self._columns(affine.symbol("row") if is_loop else 0, block, n_lanes, last[1], tile)
        statements: Body = (Loop("row", start, stop, body),) if is_loop else body
        if apart:
            behind = self._columns(self.rows - 1, block, n_lanes, last[1], tile)
            n_times = affine.floordiv(self._band + 1, self.n_bands)
            statements += (Loop("last", 0, n_times, behind),) if self.n_bands > 1 else behind
        return statements

    def _columns(self, row: Expr, block: Expr, n_lanes: int, last: bool, tile: MakeTile) -> Body:
        """The tiles of a row."""
        apart = last and self.columns > 1
        n_whole = self.columns - apart
        self.ranges["column"] = (0, n_whole - 1)
        column = _count("column", n_whole)
        statements = _loop("column", n_whole, self._lanes(row, column, block, n_lanes, tile))
        if apart:
            statements += self._lanes(row, self.columns - 1, block, n_lanes, tile)
        return statements

    def _lanes(self, row: Expr, column: Expr, block: Expr, n_lanes: int, tile: MakeTile) -> Body:
        """One tile, for one vector of channels after the other."""
        made: list[Statement] = []
        for first in range(0, n_lanes, self.lanes):
            body = tuple(tile(row, column, block, first))
            made.append(Loop("lane", 0, min(self.lanes, n_lanes - first), body, "vector"))
        return tuple(made)

    # Places

    def _place(self, tensor: str, number: int, at: Place) -> Read:
        """The element of V or P that a lane works on; `number` is its place in the tile."""
        row, column, block, first = at
        tile = affine.mod(row, self.band) * self.columns + column
        index = (number, block, affine.simplify(tile, self.ranges), _LANE + first)
        return Read(tensor, index, DType.f32)

    def _settled(self, value: Scalar, at: Mapping[str, Expr]) -> Scalar:
        return substitute(value, at, self.ranges)

    def _settled_index(self, e: Expr, at: Mapping[str, Expr]) -> Expr:
        return affine.simplify(affine.substitute(e, at), self.ranges)

    def _element(self, data: Scalar, at: Mapping[str, Expr]) -> Scalar:
        """An element of the image, or the zero beyond its border."""
        return physical(substitute(data, at, self.ranges), self.tensors, self.ranges, {})

    def _reaches_behind(self, transform: _Transform, axis: str, tap: str, n_tiles: int) -> bool:
        """Whether the last tile along an axis reads more zeros than lie around the image."""
        self.ranges["tile"] = (0, n_tiles - 1)
        others = {a: 0 for a in transform.extents}
        at = {**others, axis: affine.symbol("tile"), tap: self.found.side - 1}
        return n_tiles > 1 and isinstance(self._element(transform.data, at), Inside)


def _combination(factors: Sequence[float], values: Sequence[Scalar]) -> Scalar:
    """A sum of values times small numbers, with as few multiplications as can be."""
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


def _count(var: str, n: int) -> Expr:
    """The index of a loop; 0 where it would run once."""
    return affine.symbol(var) if n > 1 else 0


def _loop(var: str, n: int, body: Body, kind: LoopKind = "for") -> Body:
    return (Loop(var, 0, n, body, kind),) if n > 1 else body
