"""Packed constants: a program's weights in one block, in the order in which kernels read them."""

from __future__ import annotations

import math

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.constant import Array, Constant, Splat
from compiler.limits import check_bytes
from compiler.runtime.storage import LINE_BYTES, aligned_bytes
from compiler.schedule.operands.packing import Packing


@dataclass(frozen=True, slots=True)
class PackedConstant:
    """A constant operand in the form that one kernel reads. Units: bytes."""

    constant: Constant
    packing: Packing | None
    nbytes: int


class ConstantPool:
    """Collects packed constants without duplicates, and then writes all of them."""

    def __init__(self) -> None:
        self._offsets: dict[object, int] = {}
        self._wanted: list[tuple[int, PackedConstant]] = []
        self.nbytes = 0

    def offset_of(self, wanted: PackedConstant) -> int:
        """Return the offset of the constant in the block."""
        # Storages compare by content; origins do not affect the bytes.
        key = (wanted.constant.type, wanted.constant.storage, wanted.packing)
        if key not in self._offsets:
            self._offsets[key] = self.nbytes
            self._wanted.append((self.nbytes, wanted))
            self.nbytes += -(-wanted.nbytes // LINE_BYTES) * LINE_BYTES
        return self._offsets[key]

    @property
    def n_constants(self) -> int:
        """Return the number of distinct packed constants."""
        return len(self._wanted)

    def block(self) -> Array:
        """Pack all constants at their offsets, one after another to limit peak memory.

        Errors: E-LIMIT-MEMORY.
        """
        largest = max((w.constant.type.nbytes for _, w in self._wanted), default=0)
        check_bytes(self.nbytes + largest, "packing the weights")
        memory = aligned_bytes(self.nbytes)
        for offset, wanted in self._wanted:
            _write(wanted, memory[offset : offset + wanted.nbytes])
        return memory


def _write(wanted: PackedConstant, memory: Array) -> None:
    """Write the constant's elements to memory in the order in which the kernel reads them."""
    constant, packing = wanted.constant, wanted.packing
    shape = constant.type.static_shape if packing is None else packing.shape
    dtype = np.dtype(constant.type.dtype.numpy)
    target = memory.view(dtype if packing is None else packing.dtype_of(dtype))
    assert target.size == math.prod(shape), (
        f"a packed constant has the shape {shape}, but the kernel reads {wanted.nbytes} bytes"
    )
    if isinstance(constant.storage, Splat) and wanted.nbytes == constant.type.nbytes:
        target.fill(constant.storage.value)  # without materialising the constant
    elif packing is None:
        target.reshape(shape)[...] = constant.array()
    else:
        packing.write(constant.array(), target)
