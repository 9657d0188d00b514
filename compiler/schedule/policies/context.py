"""The inputs of a policy other than the nest: constant operands and code options."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from compiler.compute.scalar import IndexValue, Inside, Read, fetches, walk
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.affine import Apply, Expr
from compiler.ir.types import DType
from compiler.schedule.nest import Axis, Nest
from compiler.targets.options import CodeOptions
from compiler.targets.target import Target


@dataclass(frozen=True, slots=True)
class Context:
    """The inputs of a policy; `packable` are the constants that only this nest reads."""

    options: CodeOptions
    packable: frozenset[str]

    @property
    def target(self) -> Target:
        """The target machine."""
        return self.options.target

    def lanes(self, dtype: DType) -> int:
        """Return the number of lanes of a full vector; narrower types count as f32."""
        return max(self.target.vector_bytes // max(dtype.nbytes, 4), 1)


def addresses(nest: Nest) -> list[Expr]:
    """Return the addresses of all stores and reads."""
    found = [nest.address(b.target, b.index) for b in nest.results]
    return found + [nest.address(r.tensor, r.index) for r in nest.reads()]


def tested(nest: Nest) -> set[str]:
    """Return the loop indices that occur in padding tests."""
    found: set[str] = set()
    for part in (p for value in nest.values for p in walk(value)):
        if isinstance(part, Inside):
            for e, _ in part.tests:
                found |= affine.symbols(e)
    return found


def divided(nest: Nest) -> dict[str, int]:
    """Map each loop index that is divided alone (not in a sum) to its largest divisor."""
    found: dict[str, int] = {}

    def look(e: Expr) -> None:
        if isinstance(e, int):
            return
        for atom, _ in e.terms:
            if isinstance(atom, Apply):
                look(atom.a)
                look(atom.b)
                symbols = affine.symbols(atom.a)
                if atom.fn in ("floordiv", "mod") and isinstance(atom.b, int) and len(symbols) == 1:
                    (name,) = symbols
                    found[name] = max(found.get(name, 0), atom.b)

    for e in addresses(nest):
        look(e)
    return found


def fuse_all(nest: Nest, packable: frozenset[str] = frozenset()) -> Nest:
    """Fuse adjacent loops if every address stays affine (without divisions).

    The indices of constants to be packed must stay affine too.
    """
    names = _fresh(nest)
    held = divisions(nest, packable)
    fused = _fuse_once(nest, held, names, packable)
    while fused is not None:
        nest, held = fused
        fused = _fuse_once(nest, held, names, packable)
    return nest


def _fuse_once(
    nest: Nest, held: int, name: Callable[[str], str], packable: frozenset[str]
) -> tuple[Nest, int] | None:
    """Fuse the first two loops that can be fused; also return the resulting number of divisions."""
    kept = tested(nest)
    for a, b in zip(nest.axes, nest.axes[1:], strict=False):
        if a.is_reduction != b.is_reduction or a.var in kept or b.var in kept:
            continue
        try:
            fused = nest.fuse(a.var, b.var, name(a.var + b.var))
        except CompileError:
            continue
        after = divisions(fused, packable)
        if after <= held:
            return fused, after
    return None


def _fresh(nest: Nest) -> Callable[[str], str]:
    def name(hint: str) -> str:
        taken = nest.taken
        while hint in taken:
            hint += "_"
        return hint

    return name


def divisions(nest: Nest, packable: frozenset[str] = frozenset()) -> int:
    """Count the divisions and remainders in addresses, computed indices and packable reads."""

    def count(e: Expr) -> int:
        if isinstance(e, int):
            return 0
        atoms = [t for t, _ in e.terms if isinstance(t, Apply)]
        return sum((t.fn != "mul") + count(t.a) + count(t.b) for t in atoms)

    own = (e for r in nest.reads() if r.tensor in packable for e in r.index)
    return sum(map(count, [*addresses(nest), *_fetched_at(nest), *own]))


def _fetched_at(nest: Nest) -> Iterator[Expr]:
    """Yield the expressions of loop indices that occur in computed indices."""
    for f in (f for value in nest.values for f in fetches(value)):
        for place in f.index:
            yield from (part.expr for part in walk(place) if isinstance(part, IndexValue))


def strides(nest: Nest, var: str) -> tuple[int | None, list[tuple[Read, int | None]]]:
    """Return the strides, along a loop, of the target's address and of all read addresses."""
    own = nest.stride_of(nest.target, nest.index, var)
    return own, [(r, nest.stride_of(r.tensor, r.index, var)) for r in nest.reads()]


def operands(nest: Nest) -> list[Read]:
    """Return the reads of a reduction, including repeated reads."""
    assert nest.reduce is not None
    return [s for s in walk(nest.reduce.body) if isinstance(s, Read)]


def depends(read: Read, var: str) -> bool:
    """Return whether the index of a read depends on a loop."""
    return any(var in affine.symbols(e) for e in read.index)


def contiguous_axis(nest: Nest) -> Axis | None:
    """Return the loop to vectorise, along which the target is contiguous.

    In a blocked layout, the result is the loop over channels before its split at the block size.
    """
    for a in nest.space:
        if strides(nest, a.var)[0] == 1:
            return a
    block = nest.tensors[nest.target].layout.block
    if block == 1:
        return None
    own = affine.symbols(nest.index[-1])
    found = [v for v, d in divided(nest).items() if d == block and v in own and nest.has(v)]
    channels = [nest.axis(v) for v in found if not nest.axis(v).is_reduction]
    return channels[-1] if channels else None


def round_up_where_legal(nest: Nest, var: str, multiple: int) -> Nest:
    """Extend a loop to include the padding lanes if all operands have padding."""
    try:
        return nest.round_up(var, multiple)
    except CompileError:
        return nest


def pack_constants(nest: Nest, ctx: Context) -> Nest:
    """Pack each constant whose indices use loops over full ranges; read others in place."""
    for tensor in sorted({r.tensor for r in nest.reads()} & ctx.packable):
        try:
            nest = nest.pack(tensor)
        except CompileError:
            continue
    return nest
