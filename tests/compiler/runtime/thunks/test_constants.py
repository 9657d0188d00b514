import numpy as np

from compiler.ir.constant import Constant
from compiler.ir.types import tensor
from compiler.runtime.thunks.constants import ConstantPool, PackedConstant
from compiler.schedule.operands.packing import Packing

TRANSPOSED = Packing((3, 5), (3, 5), (1, 0))


def constant(seed: int, origins: tuple[str, ...] = ()) -> Constant:
    values = np.random.default_rng(seed).standard_normal((3, 5)).astype(np.float32)
    return Constant.of(values, origins=origins)


def test_constants_lie_aligned_and_as_packed() -> None:
    pool = ConstantPool()
    a, b = constant(1), constant(2)
    first = pool.offset_of(PackedConstant(a, None, 60))
    second = pool.offset_of(PackedConstant(b, TRANSPOSED, 60))
    assert (first, second, pool.nbytes) == (0, 64, 128)
    block = pool.block()
    assert np.array_equal(block[:60].view(np.float32), a.array().reshape(-1))
    assert np.array_equal(block[64:124].view(np.float32), b.array().T.reshape(-1))


def test_equal_constants_packed_equally_are_stored_once() -> None:
    pool = ConstantPool()
    offset = pool.offset_of(PackedConstant(constant(1, ("a",)), TRANSPOSED, 60))
    assert pool.offset_of(PackedConstant(constant(1, ("b",)), TRANSPOSED, 60)) == offset
    assert pool.offset_of(PackedConstant(constant(1), None, 60)) != offset
    assert pool.offset_of(PackedConstant(constant(2), TRANSPOSED, 60)) != offset
    assert pool.n_constants == 3


def test_padding_becomes_zeros_and_splats_are_written_out() -> None:
    pool = ConstantPool()
    padded = Packing((4, 5), (4, 5), (0, 1))
    splat = Constant.splat(2.5, tensor("f32[3,5]"))
    pool.offset_of(PackedConstant(splat, padded, 80))
    values = pool.block()[:80].view(np.float32).reshape(4, 5)
    assert (values[:3] == 2.5).all()
    assert (values[3] == 0).all()


def test_a_program_without_constants_has_an_empty_block() -> None:
    assert ConstantPool().block().nbytes == 0
