"""Bands of tile rows: their height, and the loops over their tiles."""

from __future__ import annotations

from collections.abc import Callable

from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr, Range
from compiler.loops.nodes import Loop, LoopKind, Statement

Body = tuple[Statement, ...]

MakeTile = Callable[[Expr, Expr, Expr, int], list[Statement]]
"""Emits one tile, given its row, its column, a block of channels and the first channel in the
block."""

LANE = affine.symbol("lane")
"""The index of a lane in a vector of channels."""

PRODUCTS_PER_CYCLE = 32
FAR_BYTES_PER_CYCLE = 10
"""The number of bytes per cycle read from L3 or memory (measured: 7 to 15)."""

MEETING_CYCLES = 20_000
"""The cycles of a barrier: from the end of one shared loop to the start of the next loop."""

LEAST_TILES = 7
"""The number of tiles per product below which latency dominates: fewer tiles take the same time."""


def band_rows(
    n_rows: int,
    n_columns: int,
    channels: tuple[int, int],
    side: int,
    l2: int,
    threads: int = 1,
) -> int:
    """Choose the number of tile rows per band with the fewest estimated cycles.

    Every band reads all weights again, so bands have many rows if the weights exceed the cache.
    Bands have few rows if the transformed image and the products of a band would exceed the cache.
    If all bands are full and there is a band for every thread, each thread runs separate bands.
    With incomplete bands, or fewer bands than threads, the threads share the loops of a band, with
    a barrier after each loop.
    Shapes: `channels` are the numbers of input and output channels. Units: `l2` in bytes per core.
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
        own = n_bands >= threads > 1 and n_rows % rows == 0
        far = far_weights + (2 * held(rows) if held(rows) > (l2 if own else near) // 2 else 0)
        iteration = products + far / FAR_BYTES_PER_CYCLE
        if own:
            return -(-n_bands // threads) * iteration
        return n_bands * (iteration / threads + meetings)

    candidates = [n for n in range(1, n_rows + 1) if n == 1 or held(n) <= 2 * near]
    return min(candidates, key=lambda rows: (round(cycles(rows)), rows))


@dataclass(frozen=True, slots=True)
class Blocks:
    """Channels divided into blocks."""

    n_channels: int
    size: int

    @property
    def last(self) -> int:
        """The number of channels of an incomplete last block."""
        return self.n_channels % self.size


class Bands:
    """The bands of all images; a band is several rows of tiles."""

    def __init__(self, n_images: int, tiles: tuple[int, int], height: int, n_lanes: int) -> None:
        self.n_images = n_images
        self.rows, self.columns = tiles
        self.height, self.n_lanes = height, n_lanes
        self.n_bands = -(-self.rows // height)
        self.n_tiles = height * self.columns
        self.ranges: dict[str, Range] = {
            "image": (0, n_images - 1),
            "band": (0, self.n_bands - 1),
            "lane": (0, n_lanes - 1),
        }

    @property
    def image(self) -> Expr:
        """The index of the image."""
        return _count("image", self.n_images)

    @property
    def band(self) -> Expr:
        """The index of the band in its image."""
        return _count("band", self.n_bands)

    def tile(self, row: Expr, column: Expr) -> Expr:
        """Return the index of a tile in its band."""
        return affine.simplify(affine.mod(row, self.height) * self.columns + column, self.ranges)

    def over_images(self, body: Body) -> Body:
        """Wrap a body in loops over all images and their bands."""
        return _loop("image", self.n_images, _loop("band", self.n_bands, body))

    def over_tiles(self, blocks: Blocks, last: tuple[bool, bool], tile: MakeTile) -> Body:
        """Emit loops over blocks of channels and the tiles of a band.

        `last` has two flags: whether the last row and the last column of tiles are peeled.
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
        """Emit the tile rows of a band, for `n_lanes` channels of a block."""
        apart = last[0] and self.rows > 1
        n_whole = self.rows - apart
        start = self.band * self.height
        stop = start + self.height
        if n_whole < self.n_bands * self.height:
            stop = affine.minimum(stop, n_whole)
        self.ranges["row"] = (0, n_whole - 1)
        is_loop = max(n_whole, self.n_bands) > 1
        body = self._columns(affine.symbol("row") if is_loop else 0, block, n_lanes, last[1], tile)
        statements: Body = (Loop("row", start, stop, body),) if is_loop else body
        if apart:
            behind = self._columns(self.rows - 1, block, n_lanes, last[1], tile)
            n_times = affine.floordiv(self.band + 1, self.n_bands)
            statements += (Loop("last", 0, n_times, behind),) if self.n_bands > 1 else behind
        return statements

    def _columns(self, row: Expr, block: Expr, n_lanes: int, last: bool, tile: MakeTile) -> Body:
        """Emit the tiles of a row."""
        apart = last and self.columns > 1
        n_whole = self.columns - apart
        self.ranges["column"] = (0, n_whole - 1)
        column = _count("column", n_whole)
        statements = _loop("column", n_whole, self._lanes(row, column, block, n_lanes, tile))
        if apart:
            statements += self._lanes(row, self.columns - 1, block, n_lanes, tile)
        return statements

    def _lanes(self, row: Expr, column: Expr, block: Expr, n_lanes: int, tile: MakeTile) -> Body:
        """Emit one tile, once per vector of channels."""
        made: list[Statement] = []
        for first in range(0, n_lanes, self.n_lanes):
            body = tuple(tile(row, column, block, first))
            made.append(Loop("lane", 0, min(self.n_lanes, n_lanes - first), body, "vector"))
        return tuple(made)


def _count(var: str, n: int) -> Expr:
    """Return the index of a loop; 0 for a single iteration."""
    return affine.symbol(var) if n > 1 else 0


def _loop(var: str, n: int, body: Body, kind: LoopKind = "for") -> Body:
    return (Loop(var, 0, n, body, kind),) if n > 1 else body
