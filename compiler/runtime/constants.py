"""Packed constants: the weights of a program in the order its kernels read them, in one block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compiler.ir.constant import Array, Constant, Splat
from compiler.runtime.storage import LINE_BYTES, aligned_bytes
from compiler.schedule.packing import Packing


@dataclass(frozen=True, slots=True)
class PackedConstant:
    """A constant operand as one kernel wants it. Units: bytes."""

    constant: Constant
    packing: Packing | None
    nbytes: int


class ConstantPool:
    """Collects packed constants, equal ones once, and then writes them all."""

    def __init__(self) -> None:
        self._offsets: dict[object, int] = {}
        self._wanted: list[tuple[int, PackedConstant]] = []
        self.nbytes = 0

    def offset_of(self, wanted: PackedConstant) -> int:
        """Where the constant will lie in the block."""
        # Storages compare by content; origins do not matter to the bytes.
        key = (wanted.constant.type, wanted.constant.storage, wanted.packing)
        if key not in self._offsets:
            self._offsets[key] = self.nbytes
            self._wanted.append((self.nbytes, wanted))
            self.nbytes += -(-wanted.nbytes // LINE_BYTES) * LINE_BYTES
        return self._offsets[key]

    @property
    def n_constants(self) -> int:
        """How many different packed constants there are."""
        return len(self._wanted)

    def block(self) -> Array:
        """All of them, each at its offset; packed one after the other to keep the peak low."""
        memory = aligned_bytes(self.nbytes)
        for offset, wanted in self._wanted:
            if _fill(memory[offset : offset + wanted.nbytes], wanted):
                continue
            array = packed(wanted)
            assert array.nbytes == wanted.nbytes, (
                f"a constant packs into {array.nbytes} bytes, the kernel reads {wanted.nbytes}"
            )
            target = memory[offset : offset + wanted.nbytes]
            target.view(array.dtype)[...] = array.reshape(-1)
        return memory


def _fill(target: Array, wanted: PackedConstant) -> bool:
    """Write a splat that needs no padding without making it an array first; else do nothing."""
    constant = wanted.constant
    if not isinstance(constant.storage, Splat) or wanted.nbytes != constant.type.nbytes:
        return False
    target.view(constant.type.dtype.numpy).fill(constant.storage.value)
    return True


def packed(wanted: PackedConstant) -> Array:
    """The constant's elements in the order the kernel reads them."""
    array = wanted.constant.array()
    if wanted.packing is not None:
        return wanted.packing.apply(array)
    return np.ascontiguousarray(array).reshape(array.shape)
