"""Weights of a few bits that are packed into bytes, with one scale per block of inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.numbers import convert
from compiler.compute.scalar import Scalar
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import DType, TensorType
from compiler.ops.data_movement.gather import gather
from compiler.ops.data_movement.reshape import reshape
from compiler.ops.elementwise.arithmetic import add
from compiler.ops.linear_algebra.matmul import matmul
from compiler.ops.quantization.quantize import dequantize
from compiler.ops.type_rules.requirements import n_elements, require_size, traffic

WIDTHS = (2, 4, 8)


def _n_blocks(columns: int, block_size: int) -> int:
    return -(-columns // block_size)


@op(kind="movement")
def unpack_weights(
    w: Tensor,
    scale: Tensor,
    zero: Tensor | None = None,
    *,
    rows: int,
    columns: int,
    bits: int,
    block_size: int,
) -> TensorType:
    """Unpack weights of 2, 4 or 8 bits, subtract the zero point of their block, and scale them.

    The first weight of a byte is in its lowest bits. The default zero point is the middle of the
    range, such as 8 for 4 bits. Zero points are packed like the weights, or have the type of the
    scales.
    Shapes: w is [rows, blocks, block_size * bits / 8], scale is [rows, blocks] or flat, the result
    is [rows, columns]. There are ceil(columns / block_size) blocks. Packed zero points have the
    shape [rows, ceil(blocks * bits / 8)].
    Errors: E-OP-DTYPE, E-OP-SHAPE, E-OP-ATTRIBUTE.
    Source: ONNX Runtime's com.microsoft.MatMulNBits.
    """
    require(w.dtype is DType.u8, "E-OP-DTYPE", f"packed weights must be u8, got {w.dtype}")
    require(scale.dtype.is_float, "E-OP-DTYPE", f"the scales must be floats, got {scale.dtype}")
    require(bits in WIDTHS, "E-OP-ATTRIBUTE", f"unpack_weights takes 2, 4 or 8 bits, got {bits}")
    fits = block_size > 0 and block_size % 8 == 0
    require(fits, "E-OP-ATTRIBUTE", f"the block size must be a multiple of 8, got {block_size}")
    fits = rows >= 0 and columns >= 0
    require(fits, "E-OP-ATTRIBUTE", f"rows and columns must be at least 0, got {rows}, {columns}")
    blocks = _n_blocks(columns, block_size)
    _require_count("packed weights", w, rows * blocks * block_size * bits // 8)
    _require_count("scales", scale, rows * blocks)
    if zero is not None:
        packed = zero.dtype is DType.u8
        fits = packed or zero.dtype is scale.dtype
        require(fits, "E-OP-DTYPE", f"zero points must be u8 or {scale.dtype}, got {zero.dtype}")
        n = rows * -(-blocks * bits // 8) if packed else rows * blocks
        _require_count("zero points", zero, n)
    return TensorType(scale.dtype, (rows, columns))


def _require_count(what: str, x: Tensor, needed: int) -> None:
    if x.type.is_static:
        require_size("unpack_weights", what, x.type.n_elements, needed)


@unpack_weights.reference
def _(
    w: Array,
    scale: Array,
    zero: Array | None = None,
    *,
    rows: int,
    columns: int,
    bits: int,
    block_size: int,
) -> Array:
    blocks = _n_blocks(columns, block_size)
    codes = _unpacked(w.reshape(rows, -1), bits).astype(np.float32)
    origin = np.full((rows, blocks), 1 << (bits - 1), np.float32)
    if zero is not None and zero.dtype == np.uint8:
        origin = _unpacked(zero.reshape(rows, -1), bits)[:, :blocks].astype(np.float32)
    elif zero is not None:
        origin = zero.reshape(rows, blocks).astype(np.float32)
    factor = scale.reshape(rows, blocks).astype(np.float32)
    block = np.arange(columns) // block_size
    spread = [p[:, block] for p in (origin, factor)]
    return convert((codes[:, :columns] - spread[0]) * spread[1], DType.from_numpy(scale.dtype))


def _unpacked(packed: Array, bits: int) -> Array:
    """Unpack bytes to integers of `bits` bits along the last axis."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes = (packed[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    return codes.reshape(*packed.shape[:-1], -1)


@unpack_weights.cost
def _(
    w: TensorType,
    scale: TensorType,
    zero: TensorType | None = None,
    *,
    out: TensorType,
    **_: Any,
) -> Cost:
    return traffic([w, scale, zero], out, 4 * n_elements(out))


@unpack_weights.lower
def _(
    k: Lowering,
    w: Handle,
    scale: Handle,
    zero: Handle | None,
    out: Handle,
    *,
    rows: int,
    columns: int,
    bits: int,
    block_size: int,
) -> None:
    blocks = _n_blocks(columns, block_size)
    row, column = k.axes(out.shape)
    block = affine.floordiv(column, block_size)
    padded = blocks * block_size
    value = k.convert(_code(k, w, row, column, padded, bits), DType.f32)
    if zero is None:
        origin: Scalar = k.number(float(1 << (bits - 1)), DType.f32)
    elif zero.dtype is DType.u8:
        padded = -(-blocks * bits // 8) * 8 // bits
        origin = k.convert(_code(k, zero, row, block, padded, bits), DType.f32)
    else:
        origin = k.convert(_flat(zero, row * blocks + block), DType.f32)
    factor = k.convert(_flat(scale, row * blocks + block), DType.f32)
    k.assign(out[row, column], k.convert((value - origin) * factor, out.dtype))


def _code(k: Lowering, packed: Handle, row: Expr, at: Expr, n_row: int, bits: int) -> Scalar:
    """Return the integer at position `at` in a row of `n_row` packed integers."""
    in_byte = 8 // bits
    byte = _flat(packed, row * (n_row // in_byte) + affine.floordiv(at, in_byte))
    if in_byte == 1:
        return byte
    shift = k.index(affine.mod(at, in_byte) * bits, DType.u8)
    return k.apply("and", k.apply("shr", byte, shift), (1 << bits) - 1)


def _flat(t: Handle, at: Expr) -> Scalar:
    """Return the element of a tensor at a row-major index."""
    index: list[Expr] = []
    for n in reversed(t.shape[1:]):
        index.append(affine.mod(at, n))
        at = affine.floordiv(at, n)
    return t[[at, *reversed(index)]]


@unpack_weights.samples
def _() -> Iterator[tuple[Any, ...]]:
    def attrs(rows: int, columns: int, bits: int, block_size: int) -> dict[str, int]:
        return {"rows": rows, "columns": columns, "bits": bits, "block_size": block_size}

    chance = np.random.default_rng(0)

    def packed(*shape: int) -> Array:
        return chance.integers(0, 256, shape).astype(np.uint8)

    yield [packed(3, 2, 8), "f32[3,2]"], attrs(3, 30, 4, 16)
    yield [packed(3, 3, 8), "f32[9]", packed(3, 2)], attrs(3, 47, 4, 16)
    yield [packed(3, 2, 4), "f32[6]", packed(3, 1)], attrs(3, 32, 2, 16)
    yield [packed(2, 3, 16), "f16[2,3]", packed(2, 3)], attrs(2, 45, 8, 16)
    yield [packed(2, 1, 16), "f32[2,1]", "f32[2,1]"], attrs(2, 20, 4, 32)


@unpack_weights.export
def _(
    w: Tensor,
    scale: Tensor,
    zero: Tensor | None = None,
    *,
    rows: int,
    columns: int,
    bits: int,
    block_size: int,
) -> Operand:
    """Export as shifts and masks for unpacking, a subtraction of zero points, and a product."""
    blocks = _n_blocks(columns, block_size)
    codes = _reshaped(_exported_codes(w, rows, bits), rows, blocks, block_size)
    origin: Operand = np.float32(1 << (bits - 1))
    if zero is not None and zero.dtype is DType.u8:
        ends = np.array([0]), np.array([blocks]), np.array([1])
        origin = standard("Slice", _exported_codes(zero, rows, bits), *ends)
        origin = _reshaped(standard("Cast", origin, to=DType.f32), rows, blocks, 1)
    elif zero is not None:
        origin = _reshaped(standard("Cast", zero, to=DType.f32), rows, blocks, 1)
    factor = _reshaped(standard("Cast", scale, to=DType.f32), rows, blocks, 1)
    moved = standard("Sub", standard("Cast", codes, to=DType.f32), origin)
    flat = _reshaped(standard("Mul", moved, factor), rows, blocks * block_size)
    ends = np.array([0]), np.array([columns]), np.array([1])
    return standard("Cast", standard("Slice", flat, *ends), to=scale.dtype)


def _exported_codes(packed: Tensor, rows: int, bits: int) -> Operand:
    """Export the unpacking of bytes to integers. Shapes: the result is [rows, integers per row]."""
    bytes_ = _reshaped(packed, rows, -1, 1)
    places = np.arange(0, 8, bits).astype(np.uint8)
    shifted = standard("BitShift", bytes_, places, direction="RIGHT")
    return _reshaped(standard("BitwiseAnd", shifted, np.uint8((1 << bits) - 1)), rows, -1)


def _reshaped(x: Operand, *shape: int) -> Operand:
    return standard("Reshape", x, np.array(shape))


@unpack_weights.onnx("com.microsoft:MatMulNBits")
def _(n: OnnxCall) -> Operand | None:
    a, w, scale, zero, order, bias = (n.operand(i) for i in range(6))
    bits = int(n.attr("bits", 4))
    is_plain = order is None and bits in WIDTHS and not n.attr("weight_prepacked", 0)
    if not is_plain or a is None or w is None or scale is None or scale.dtype is not a.dtype:
        return None
    unpacked = unpack_weights(
        w,
        scale,
        zero,
        rows=int(n.required("N")),
        columns=int(n.required("K")),
        bits=bits,
        block_size=int(n.required("block_size")),
    )
    made = matmul(a, unpacked, transpose_b=True)
    return made if bias is None else add(made, bias)


@unpack_weights.onnx("com.microsoft:GatherBlockQuantized")
def _(n: OnnxCall) -> Operand | None:
    """Import a gather of quantized rows with one scale per block of a row; u8 data is packed."""
    data, rows, scale, zero = (n.operand(i) for i in range(4))
    if data is None or rows is None or scale is None or data.type.shape is None:
        return None
    ends = (-1, data.rank - 1)
    if n.attr("gather_axis", 0) != 0 or n.attr("quantize_axis", 1) not in ends or data.rank != 2:
        return None
    block_size, bits = int(n.attr("block_size", 128)), int(n.attr("bits", 4))
    picked = [None if t is None else gather(t, rows, axis=0) for t in (data, scale, zero)]
    if data.dtype is not DType.u8:
        axes = {"axis": -1, "block_size": block_size}
        return dequantize(*picked, to=scale.dtype, **axes)
    if not (rows.type.is_static and data.type.is_static) or bits not in WIDTHS:
        return None
    n_rows, columns = rows.type.n_elements, data.type.static_shape[1] * 8 // bits
    unpacked = unpack_weights(
        *picked, rows=n_rows, columns=columns, bits=bits, block_size=block_size
    )
    return reshape(unpacked, np.array([*rows.type.static_shape, columns]))
