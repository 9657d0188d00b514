"""Register buffers as SSA values: their division into vectors, and loop-carried vectors."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from compiler.codegen.access.addresses import Env, Lane, Resolved
from compiler.codegen.access.indices import Indices
from compiler.codegen.emitter import Emitter
from compiler.codegen.values import Value, constant, power_of_two
from compiler.codegen.vectors.prepare import Prepared, most_lanes, touched
from compiler.compute.scalar import Read, walk
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Affine, Expr
from compiler.ir.types import DType
from compiler.loops.nodes import Buffer, Loop, Statement, Store, walk_statements
from compiler.targets.target import Target

Key = tuple[str, int, int]
"""Register name, row (linear index over all axes but the last), and vector (index in the row)."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The division of a register's rows into vectors of `width` elements (0: single elements)."""

    buffer: Buffer
    width: int

    @property
    def is_padded(self) -> bool:
        """Return whether a row has one vector whose last lanes are padding."""
        return self.row < self.width

    @property
    def row(self) -> int:
        """The number of elements of one row."""
        return int(self.buffer.shape[-1]) if self.buffer.shape else 1

    def lanes(self, part: int) -> int:
        """Return the number of lanes of vector `part` of a row; 0 for single elements."""
        if not self.width:
            return 0
        if self.is_padded:
            return self.width
        return power_of_two(min(self.width, self.row - part * self.width))

    def locate(self, position: int) -> tuple[int, int]:
        """Return the vector and the lane of an element of a row."""
        return divmod(position, self.width) if self.width else (position, 0)


def cut_registers(prepared: Prepared, target: Target) -> dict[str, Cut]:
    """Choose the division of every register into vectors, based on the loops that access it.

    On targets with masks, a row shorter than a vector occupies a full vector, since LLVM spills
    early if code mixes vector widths.
    """
    kernel, widths = prepared.kernel, prepared.widths
    found: dict[str, set[int]] = {b.name: set() for b in kernel.registers}
    _collect_widths(kernel.body, widths, None, {}, kernel.buffers, found)
    cuts: dict[str, Cut] = {}
    for b in kernel.registers:
        row = Cut(b, 0).row
        used = found[b.name]
        if not used:
            cuts[b.name] = Cut(b, 0)
        elif len(used) == 1 and 0 not in used:
            width = used.pop()
            cuts[b.name] = Cut(b, width if target.has_masks else min(width, power_of_two(row)))
        else:
            cuts[b.name] = Cut(b, power_of_two(row))
    return cuts


def with_whole_vectors(prepared: Prepared, cuts: Mapping[str, Cut]) -> Prepared:
    """Mark as `whole` the short vector loops that access padded vectors in registers."""
    padded = {name for name, cut in cuts.items() if cut.is_padded}
    whole = {
        id(s)
        for s in walk_statements(prepared.kernel.body)
        if isinstance(s, Loop) and s.kind == "vector" and most_lanes(s) < prepared.widths[id(s)]
        if not padded.isdisjoint(touched(s.body))
    }
    return replace(prepared, whole=frozenset(whole))


def _collect_widths(
    body: tuple[Statement, ...],
    widths: Mapping[int, int],
    lane: tuple[str, int] | None,
    starts: dict[str, int],
    buffers: Mapping[str, Buffer],
    found: dict[str, set[int]],
) -> None:
    """Collect the width of every vector access to a register; 0 if the access spans two vectors."""
    for s in body:
        if isinstance(s, Loop):
            if s.kind == "vector":
                assert isinstance(s.start, int)
                inner = (s.var, widths[id(s)])
                _collect_widths(s.body, widths, inner, {**starts, s.var: s.start}, buffers, found)
            else:
                start = s.start if isinstance(s.start, int) else 0
                _collect_widths(s.body, widths, lane, {**starts, s.var: start}, buffers, found)
        elif isinstance(s, Store) and lane is not None:
            accesses = [(s.buffer, s.index)]
            accesses += [(r.tensor, r.index) for r in walk(s.value) if isinstance(r, Read)]
            for name, index in accesses:
                if name in found and index and lane[0] in affine.symbols(index[-1]):
                    found[name].add(lane[1] if _is_aligned(index[-1], lane, starts) else 0)


def _is_aligned(e: Expr, lane: tuple[str, int], starts: Mapping[str, int]) -> bool:
    """Return whether a vector access is aligned to its width in all iterations."""
    var, width = lane
    if not isinstance(e, Affine):
        return False
    offset = e.constant
    for atom, c in e.terms:
        if not isinstance(atom, str):
            return False
        if atom == var:
            if c != 1:
                return False
            offset += starts[var]
        elif c % width:
            return False
    return offset % width == 0


class Registers:
    """The current SSA value of every vector (or element) of the register buffers."""

    def __init__(
        self,
        out: Emitter,
        env: Env,
        indices: Indices,
        cuts: Mapping[str, Cut],
        prepared: Prepared,
    ) -> None:
        self.out = out
        self.env = env
        self.indices = indices
        self.cuts = cuts
        self.prepared = prepared
        self.current: dict[Key, Value] = {}

    def use(self, key: Key) -> Value:
        """Return the current value and mark it as used, so that loops carry it."""
        v = self.get(key)
        self.out.used.add(v.ref)
        return v

    def get(self, key: Key) -> Value:
        """Return the current value; undefined before the first store."""
        found = self.current.get(key)
        if found is None:
            cut = self.cuts[key[0]]
            return Value("poison", cut.buffer.dtype, cut.lanes(key[2]))
        return found

    def read(self, name: str, index: tuple[Expr, ...]) -> Value:
        """Return the element (or the elements of all lanes) at an index."""
        cut = self.cuts[name]
        row, last = self._position(cut, index)
        lane = self.env.lane
        if last.is_uniform or lane is None:
            part, at = cut.locate(last.constant)
            v = self.use((name, row, part))
            return self.out.extract(v, at) if v.lanes else v
        part, at = self._vector_at(cut, last, lane)
        v = self.use((name, row, part))
        if at == 0 and v.lanes == lane.lanes:
            return v
        picks = [at + i if i < lane.active else -1 for i in range(lane.lanes)]
        return self.out.shuffle(v, None, picks)

    def write(self, name: str, index: tuple[Expr, ...], value: Value) -> None:
        """Replace the element (or the elements of all lanes) at an index."""
        cut = self.cuts[name]
        row, last = self._position(cut, index)
        lane = self.env.lane
        if last.is_uniform or lane is None:
            part, at = cut.locate(last.constant)
            key = (name, row, part)
            lanes = cut.lanes(part)
            self.current[key] = self.out.insert(self.use(key), value, at) if lanes else value
            return
        part, at = self._vector_at(cut, last, lane)
        key = (name, row, part)
        lanes = cut.lanes(part)
        value = self.out.splat(value, lane.lanes)
        if lane.stop is not None:
            self.current[key] = self._blended(key, at, lanes, value)
            return
        covered = min(cut.width, cut.row - part * cut.width)
        if at == 0 and lanes == lane.lanes and lane.active >= covered:
            self.current[key] = value
            return
        if lanes != lane.lanes:
            picks = [i if i < lane.active else -1 for i in range(lanes)]
            value = self.out.shuffle(value, None, picks)
        inside = range(at, at + lane.active)
        blend = [lanes + i - at if i in inside else i for i in range(lanes)]
        self.current[key] = self.out.shuffle(self.use(key), value, blend)

    def _blended(self, key: Key, at: int, lanes: int, value: Value) -> Value:
        """Replace lanes from `at` on by the lanes of a value that the mask marks as active."""
        mask = self.indices.active_lanes()
        if lanes != value.lanes:
            moved = [i - at if at <= i < at + value.lanes else -1 for i in range(lanes)]
            off = constant(False, DType.bool, value.lanes)
            mask = self.out.shuffle(mask, off, [value.lanes if i < 0 else i for i in moved])
            value = self.out.shuffle(value, None, moved)
        return self.out.select(mask, value, self.use(key))

    def place(self, name: str, index: tuple[Expr, ...]) -> tuple[int, int]:
        """Return row and position of an element with a constant index."""
        row, last = self._position(self.cuts[name], index)
        return row, last.constant

    def _position(self, cut: Cut, index: tuple[Expr, ...]) -> tuple[int, Resolved]:
        row = 0
        for e, n in zip(index[:-1], cut.buffer.shape[:-1], strict=True):
            at = self.indices.number(e)
            assert at is not None, f"the register index {cut.buffer.name}[{e}] is not constant"
            row = row * int(n) + at
        last = self.indices.resolve(index[-1]) if index else Resolved(0)
        assert not last.atoms, f"{cut.buffer.name}[{index[-1]}] is not a constant index"
        return row, last

    def _vector_at(self, cut: Cut, last: Resolved, lane: Lane) -> tuple[int, int]:
        lanes = (last.lane_step, last.lane_atoms)
        assert lanes == (1, ()), f"lanes of register {cut.buffer.name} must be contiguous"
        part, at = cut.locate(last.constant)
        assert at + lane.active <= cut.lanes(part), f"{cut.buffer.name}: an access leaves its row"
        return part, at

    # Loops

    @contextmanager
    def of_their_own(self) -> Generator[None]:
        """Hide the SSA values of registers during the emission of code without access to them."""
        before = self.current
        self.current = {}
        yield
        self.current = before

    def stored_in(self, body: tuple[Statement, ...]) -> list[Key]:
        """Return the vectors that a loop body stores to, in order of first store."""
        found: dict[Key, None] = {}
        for name, index, loops in _register_stores(body, self.cuts, ()):
            used = set().union(*(affine.symbols(e) for e in index)) if index else set()
            bound = [loop for loop in loops if loop.var in used]
            self._instances(name, index, bound, found)
        return list(found)

    def _instances(
        self,
        name: str,
        index: tuple[Expr, ...],
        loops: list[Loop],
        found: dict[Key, None],
    ) -> None:
        if not loops:
            row, last = self._position(self.cuts[name], index)
            found[(name, row, self.cuts[name].locate(last.constant)[0])] = None
            return
        loop, *rest = loops
        assert isinstance(loop.start, int)
        if loop.kind == "vector":
            before = self.env.lane
            for first, active, lanes in self.prepared.pieces(loop):
                self.env.lane = Lane(loop.var, loop.start + first, active, lanes)
                self._instances(name, index, rest, found)
            self.env.lane = before
            return
        for i in range(loop.start, loop.start + loop.extent):
            self.env.numbers[loop.var] = i
            self._instances(name, index, rest, found)
        del self.env.numbers[loop.var]


def _register_stores(
    body: tuple[Statement, ...], cuts: Mapping[str, Cut], loops: tuple[Loop, ...]
) -> Iterator[tuple[str, tuple[Expr, ...], tuple[Loop, ...]]]:
    for s in body:
        if isinstance(s, Loop):
            yield from _register_stores(s.body, cuts, (*loops, s))
        elif isinstance(s, Store) and s.buffer in cuts:
            yield s.buffer, s.index, loops
