"""Facts that loads and stores share: pointers, the order of accesses, and masks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from compiler.codegen.access.addresses import Resolved
from compiler.codegen.access.indices import Indices
from compiler.codegen.emitter import Emitter
from compiler.codegen.values import Value, constant
from compiler.ir.types import DType
from compiler.loops.nodes import Buffer
from compiler.targets.target import Target


class Memory:
    """The memory of one function at the insertion point: pointers, versions and masks.

    `loads` and `stores` emit the accesses.
    """

    def __init__(self, out: Emitter, indices: Indices, target: Target) -> None:
        self.out = out
        self.indices = indices
        self.target = target
        self.streams = False
        """Whether a non-temporal store was emitted."""
        self._versions: Counter[str] = Counter()
        self._writers: dict[str, list[int]] = {}

    # Stores by loop: a load is loop-invariant only if the loop has no store to the same buffer.

    def enter_loop(self, written: Iterable[str], level: int) -> None:
        """Record the start of a loop at `level` whose body stores to the buffers `written`."""
        for name in written:
            self._versions[name] += 1
            self._writers.setdefault(name, [0]).append(level)

    def leave_loop(self, written: Iterable[str]) -> None:
        """Leave the loop."""
        for name in written:
            self._versions[name] += 1
            self._writers[name].pop()

    # Pointers

    def base(self, b: Buffer, r: Resolved) -> Value:
        """Emit the pointer to an element, without the constant offset, by one addition per loop."""
        known = self.out.scopes[-1].pointers
        key = (b.name, r.atoms)
        pointer = known.get(key)
        if pointer is not None:
            return pointer
        pointer = Value(parameter(b), DType.u64)
        for part in self.indices.by_level(r, b.dtype.nbytes):
            # Addresses already consist of a base and a constant. LLVM's loop strength reduction
            # would take a quarter of LLVM's time to share registers among bases; freeze prevents
            # that.
            offset = self.out.op(f"freeze i64 {part.ref}", DType.i64, 0, part)
            text = f"getelementptr i8, ptr {pointer.ref}, i64 {offset.ref}"
            pointer = self.out.op(text, DType.u64, 0, pointer, offset)
        known[key] = pointer
        return pointer

    def displaced(self, pointer: Value, nbytes: int, level: int) -> Value:
        """Emit pointer + bytes near the use, so that LLVM folds the addition into the address."""
        if nbytes == 0:
            return pointer
        text = f"getelementptr i8, ptr {pointer.ref}, i64 {nbytes}"
        return self.out.op_at(text, DType.u64, 0, level)

    def note_store(self, b: Buffer) -> None:
        """Record a store to a buffer: later loads must not reuse earlier loads."""
        self._versions[b.name] += 1

    def version(self, b: Buffer) -> int:
        """Return the version number of a buffer's contents; each store changes the number."""
        return self._versions[b.name]

    def load_level(self, b: Buffer, *operands: Value) -> int:
        """Return the outermost scope in which a load with these operands is correct."""
        writers = self._writers.get(b.name)
        level = writers[-1] if writers else 0
        for o in operands:
            if o.level > level:
                level = o.level
        return level

    # Masks

    def mask(self, guard: Value | None) -> Value:
        """Emit the mask of those active lanes of the vector loop in which the guard holds."""
        lane = self.indices.env.lane
        assert lane is not None
        if lane.is_full:
            if guard is None:
                return constant(True, DType.bool, lane.lanes)
            return self.out.splat(guard, lane.lanes)
        active = self.indices.active_lanes()
        return active if guard is None else self.out.all_of([active, guard])

    def has_masks(self, dtype: DType) -> bool:
        """Return whether the target has masked loads and stores of this type."""
        return has_masks(self.target, dtype)


def has_masks(target: Target, dtype: DType) -> bool:
    """Return whether a target has masked loads and stores of this type."""
    return target.has_masks or (target.is_x86 and target.vector_bytes >= 32 and dtype.nbytes >= 4)


def parameter(b: Buffer) -> str:
    """Return the SSA name of a buffer's pointer."""
    escaped = b.name.replace("\\", "\\5C").replace('"', "\\22")
    return f'%"b.{escaped}"'
