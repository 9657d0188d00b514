"""Selection of tile loops for matrix tiles, and register allocation of tiles.

    tile m { vector n { sums[.., m, n] = 0 } }
    for k { tile m { for p { vector n { dot d {
      sums[.., m, n] = sums[.., m, n] + x[m, k, p, d] * w[k, p, n, d]
    } } } } }

Consecutive statements that contain only tile loops form a run. During a run, up to four tiles
contain blocks of sums. The run clears or loads these blocks at its start, and stores them at its
end. Two tiles contain the most recent blocks of the left operand; two other tiles contain blocks of
the right operand. A run ends before a statement that needs tiles of other shapes. If the target has
no tiles or layouts are unsuitable, tile loops are emitted as plain loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from compiler.codegen.access.addresses import flatten
from compiler.codegen.products.dots import SUMMED_IN, group_of, products
from compiler.codegen.products.tile_unit import MOST_ROWS, ROW_BYTES, Config, Shape
from compiler.compute.scalar import Number, Read
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr, Range
from compiler.ir.types import DType
from compiler.loops.nodes import Buffer, If, Loop, Prefetch, Statement, Store, While
from compiler.targets.target import Target

SUMS = (0, 1, 2, 3)
LEFT = (4, 5)
RIGHT = (6, 7)
"""The tiles for right operands; `LEFT` are the tiles for left operands, `SUMS` the tiles for sums.

With 2 x 2 blocks of sums, each operand is used twice; more sums would leave no tiles for operands.
"""


@dataclass(frozen=True, slots=True)
class Block:
    """Rows in memory that fill a tile: the first element, and the stride of rows in bytes."""

    buffer: str
    first: Expr
    stride: int
    shape: Shape


@dataclass(frozen=True, slots=True)
class Move:
    """The load of a block into a tile."""

    tile: int
    block: Block


@dataclass(frozen=True, slots=True)
class _Fetched:
    """The tile of an operand, and whether the tile must first be loaded."""

    move: Move
    is_new: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One tile loop: its tiles, and the loads before the loop.

    A step without `kinds` clears the sums.
    """

    total: int
    loads: tuple[Move, ...] = ()
    left: int = 0
    right: int = 0
    kinds: tuple[DType, DType] | None = None


@dataclass(slots=True)
class Run:
    """The steps of a run in emission order, and the blocks of its sums."""

    steps: list[Step] = field(default_factory=list)
    sums: dict[int, Block] = field(default_factory=dict)
    loaded: set[int] = field(default_factory=set)
    """The tiles whose sums the run loads from memory at its start."""
    shapes: dict[int, Shape] = field(default_factory=dict)

    @property
    def has_products(self) -> bool:
        """Return whether the run computes products; a run that only clears sums uses no tiles."""
        return any(s.kinds is not None for s in self.steps)

    @property
    def config(self) -> Config:
        """Return the shape of every tile."""
        return tuple(self.shapes.get(i) for i in range(8))


class _NoRun(Exception):
    """Raised for statements that do not form a run."""


def runs_of(
    body: Sequence[Statement],
    buffers: Mapping[str, Buffer],
    target: Target,
    numbers: Mapping[str, int],
    ranges: Mapping[str, Range],
) -> Iterator[tuple[Sequence[Statement], Run | None]]:
    """Partition statements, in order, into runs and other statements."""
    at = 0
    while at < len(body):
        run, end = None, at + 1
        while has_tiles(body[at]) and end <= len(body):
            longer = _run(body[at:end], buffers, target, numbers, ranges)
            if longer is None:
                break
            run, end = longer, end + 1
        end -= run is not None
        yield body[at:end], run if run is not None and run.has_products else None
        at = end


def has_tiles(s: Statement) -> bool:
    """Return whether a statement contains tile loops."""
    if isinstance(s, If | While):
        return any(map(has_tiles, s.body))
    return isinstance(s, Loop) and (s.kind == "tile" or any(map(has_tiles, s.body)))


def _run(
    body: Sequence[Statement],
    buffers: Mapping[str, Buffer],
    target: Target,
    numbers: Mapping[str, int],
    ranges: Mapping[str, Range],
) -> Run | None:
    planner = _Planner(buffers, target, dict(numbers), dict(ranges))
    try:
        planner.statements(body)
    except _NoRun:
        return None
    return planner.run


class _Planner:
    """Traverses statements in emission order and allocates tiles."""

    def __init__(
        self,
        buffers: Mapping[str, Buffer],
        target: Target,
        numbers: dict[str, int],
        ranges: dict[str, Range],
    ) -> None:
        self.buffers = buffers
        self.target = target
        self.numbers: dict[str, Expr] = dict(numbers)
        self.ranges = ranges
        self.run = Run()
        self.inside: set[str] = set()
        """The current loops of the run; sums stay in their tiles during these loops."""
        self.held: dict[int, Block] = {}
        """The blocks in the operand tiles, ordered from least to most recently used."""

    def statements(self, body: Sequence[Statement]) -> None:
        """Plan statements in order. Errors: _NoRun."""
        for s in body:
            match s:
                case Loop(kind="tile"):
                    self._step(s)
                case Loop(kind="for" | "unroll"):
                    self._loop(s)
                case Prefetch():
                    pass
                case _:
                    raise _NoRun

    def _loop(self, loop: Loop) -> None:
        start, stop = (affine.substitute(e, self.numbers) for e in (loop.start, loop.stop))
        known = isinstance(start, int) and isinstance(stop, int)
        before = self.ranges.get(loop.var)
        low, high = affine.bounds(start, self.ranges)[0], affine.bounds(stop, self.ranges)[1] - 1
        self.ranges[loop.var] = (low, max(low, high))
        if known and (loop.kind == "unroll" or stop - start == 1):
            for i in range(int(start), int(stop)):
                self.numbers[loop.var] = i
                self.statements(loop.body)
            self.numbers.pop(loop.var, None)
        else:
            # The operand tiles at the start of an iteration differ from the operand tiles at its
            # end.
            self.held.clear()
            self.inside.add(loop.var)
            self.statements(loop.body)
            self.inside.discard(loop.var)
            self.held.clear()
        self.ranges.pop(loop.var)
        if before is not None:
            self.ranges[loop.var] = before

    def _step(self, loop: Loop) -> None:
        rows, store, inner = _rows(loop)
        lanes = inner[-1] if inner and inner[-1].kind == "vector" else None
        steps = [i for i in inner if i.kind in ("for", "unroll")]
        if lanes is None or len(inner) - len(steps) != 1 or len(steps) > 1:
            raise _NoRun
        dot = lanes.body[0]
        if isinstance(dot, Store):
            self._clear(store, rows, lanes, steps)
        elif isinstance(dot, Loop):
            self._dot(dot, rows, lanes, steps)

    def _clear(self, store: Store, rows: Loop, lanes: Loop, steps: list[Loop]) -> None:
        if steps or not isinstance(store.value, Number) or store.value.value != 0:
            raise _NoRun
        total = self._sums(store, rows, lanes, is_cleared=not self.inside)
        self.run.steps.append(Step(total))

    def _dot(self, dot: Loop, rows: Loop, lanes: Loop, steps: list[Loop]) -> None:
        found = products(dot)
        if found is None or found.n != group_of(found.left.dtype):
            raise _NoRun
        if SUMMED_IN[found.left.dtype] is DType.f32:
            able = self.target.has_bf16_tiles
        else:
            able = self.target.has_int8_tiles
        if not able:
            raise _NoRun
        total = self._sums(found.store, rows, lanes, is_cleared=False)
        p = steps[0] if steps else Loop("", 0, 1, ())
        loops = {"row": rows, "step": p, "lane": lanes, "part": dot}
        group, row_bytes = found.n, 4 * p.extent
        for a, b in ((found.left, found.right), (found.right, found.left)):
            left = self._operand(a, loops, "row", {"lane": 0, "step": group, "part": 1})
            right = self._operand(b, loops, "step", {"row": 0, "lane": group, "part": 1})
            if left is None or right is None:
                continue
            x = self._fetched(Block(*left, Shape(rows.extent, row_bytes)), LEFT)
            y = self._fetched(Block(*right, Shape(p.extent, 4 * lanes.extent)), RIGHT)
            loads = tuple(f.move for f in (x, y) if f.is_new)
            kinds = (a.dtype, b.dtype)
            self.run.steps.append(Step(total, loads, x.move.tile, y.move.tile, kinds))
            return
        raise _NoRun

    def _sums(self, store: Store, rows: Loop, lanes: Loop, *, is_cleared: bool) -> int:
        """Return the tile of a block of sums; the buffer's last two axes are rows and lanes."""
        b = self.buffers[store.buffer]
        *place, row, lane = store.index if len(store.index) > 1 else (0, 0, 0)
        plain = row == affine.symbol(rows.var) and lane == affine.symbol(lanes.var)
        fits = rows.extent <= MOST_ROWS and 4 * lanes.extent <= ROW_BYTES
        settled = [affine.substitute(e, self.numbers) for e in place]
        moves = any(affine.symbols(e) & self.inside for e in settled)
        if (
            b.role not in ("temporary", "output")
            or not plain
            or not fits
            or moves
            or b.dtype.nbytes != 4
        ):
            raise _NoRun
        first = flatten((*settled, 0, 0), b.strides)
        stride = 4 * int(b.shape[-1])
        block = Block(b.name, first, stride, Shape(rows.extent, 4 * lanes.extent))
        for tile, other in self.run.sums.items():
            if other.buffer == b.name and other.first == first:
                self._shaped(tile, block.shape)
                return tile
            apart = other.first - first
            if other.buffer == b.name and not isinstance(apart, int):
                raise _NoRun
        tile = len(self.run.sums)
        if tile == len(SUMS):
            raise _NoRun
        self._shaped(tile, block.shape)
        self.run.sums[tile] = block
        if not is_cleared:
            self.run.loaded.add(tile)
        return tile

    def _operand(
        self, read: Read, loops: Mapping[str, Loop], down: str, steps: Mapping[str, int]
    ) -> tuple[str, Expr, int] | None:
        """Return an operand's block if the block's rows advance with the loop `down`, else None."""
        b = self.buffers[read.tensor]
        if b.role == "register" or read.tensor in {s.buffer for s in self.run.sums.values()}:
            return None
        inside: dict[str, Expr] = {loop.var: 0 for loop in loops.values()}
        index = tuple(affine.substitute(e, self.numbers) for e in read.index)
        ranges = {**self.ranges, **{i.var: (0, i.extent - 1) for i in loops.values()}}
        flat = affine.simplify(flatten(index, b.strides), ranges)
        found = {name: affine.coefficient(flat, loop.var) for name, loop in loops.items()}
        stride = found[down]
        if stride is None or any(
            found[name] != n for name, n in steps.items() if loops[name].extent > 1
        ):
            return None
        first = affine.simplify(affine.substitute(flat, inside), self.ranges)
        return b.name, first, stride * b.dtype.nbytes

    def _fetched(self, block: Block, tiles: Sequence[int]) -> _Fetched:
        """Return the tile of `tiles` that contains the block, or a tile to load the block into."""
        for tile in tiles:
            if self.held.get(tile) == block:
                self.held[tile] = self.held.pop(tile)
                return _Fetched(Move(tile, block), is_new=False)
        shapes = self.run.shapes
        able = [t for t in tiles if shapes.get(t, block.shape) == block.shape]
        if not able or block.shape.rows > MOST_ROWS or block.shape.row_bytes > ROW_BYTES:
            raise _NoRun
        order = {t: i for i, t in enumerate(self.held)}
        tile = min(able, key=lambda t: order.get(t, -1))
        self._shaped(tile, block.shape)
        self.held.pop(tile, None)
        self.held[tile] = block
        return _Fetched(Move(tile, block), is_new=True)

    def _shaped(self, tile: int, shape: Shape) -> None:
        if self.run.shapes.setdefault(tile, shape) != shape:
            raise _NoRun


def _rows(loop: Loop) -> tuple[Loop, Store, list[Loop]]:
    """Return a tile loop, its single store, and its inner loops down to the vector loop."""
    inner: list[Loop] = []
    body = loop.body
    store: Statement | None = None
    while len(body) == 1 and store is None:
        (s,) = body
        if isinstance(s, Store):
            store = s
        elif isinstance(s, Loop) and s.kind != "tile":
            if not inner or inner[-1].kind != "vector":
                inner.append(s)
            body = s.body
        else:
            break
    loops = [loop, *inner]
    plain = all(a.start == 0 and isinstance(a.stop, int) for a in loops)
    if not isinstance(store, Store) or not plain:
        raise _NoRun
    return loop, store, inner
