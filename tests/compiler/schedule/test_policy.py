"""Tests of every policy, against the oracle of computations and the interpreter of loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from compiler.compute.builder import Handle, Lowering
from compiler.compute.computation import Computation
from compiler.compute.evaluate import evaluate
from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.types import DType, TensorType, tensor
from compiler.loops.interpret import interpret
from compiler.loops.text import parse_kernel
from compiler.loops.verify import verify_kernel
from compiler.schedule.policy import schedule
from compiler.schedule.writing.physical import nest_of
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name
from tests.physical_arrays import memory_for, picked_up

Array = np.ndarray
TARGETS = [by_name("x86-64-v4"), by_name("x86-64-v3")]


def check(computation: Computation, constants: str = "") -> None:
    rng = np.random.default_rng(7)
    arrays = {
        n: rng.normal(0, 1 if t.dtype.is_float else 40, t.static_shape)
        .astype(np.int32 if t.dtype.is_integer else np.float32)
        .astype(t.dtype.numpy)
        for n in computation.inputs
        for t in [computation.tensors[n]]
    }
    wanted = evaluate(computation, arrays)
    for target in TARGETS:
        made = schedule(computation, frozenset(constants), CodeOptions(target))
        verify_kernel(made.kernel)
        assert parse_kernel(str(made.kernel)) == made.kernel
        memory = memory_for(made, computation.tensors, arrays)
        interpret(made.kernel, memory)
        for name in computation.outputs:
            t = computation.tensors[name]
            np.testing.assert_allclose(
                picked_up(memory[name], t), wanted[name], rtol=1e-4, atol=1e-5
            )
            assert_halo_is_zero(memory[name], t)


def assert_halo_is_zero(memory: Array, t: TensorType) -> None:
    inner = [slice(None), slice(None)]
    inner += [
        slice(h, h + n) for h, n in zip(t.layout.halo_of(len(t.dims)), t.dims[2:], strict=True)
    ]
    if t.layout.halo:
        rest = memory.copy()
        rest[tuple(inner)] = 0
        assert not rest.any()


def computation(
    inputs: list[str], output: str, define: Callable[..., None], name: str = "op"
) -> Computation:
    k = Lowering(name)
    handles = [k.input("ABCD"[i], tensor(t)) for i, t in enumerate(inputs)]
    define(k, *handles, k.output("Y", tensor(output)))
    return k.computation()


def conv(stride: int = 1, pad: int = 0, groups: int = 1) -> Callable[..., None]:
    def define(k: Lowering, x: Handle, w: Handle, b: Handle, y: Handle) -> None:
        out, per_group, kh, kw = w.shape
        n, o, r, c = k.axes(y.shape, "noyx")
        i, ky, kx = k.axis(per_group, "i"), k.axis(kh, "ky"), k.axis(kw, "kx")
        channel = affine.floordiv(o, out // groups) * per_group + i if groups > 1 else i
        read = x.padded([n, channel, r * stride + ky - pad, c * stride + kx - pad])
        k.assign(y[n, o, r, c], k.max(k.sum(read * w[o, i, ky, kx], over=(i, ky, kx)) + b[o], 0.0))

    return define


CONVOLUTIONS = {
    "blocked_3x3": (
        ["f32[1,17,4,5]{c16,halo=1x1}", "f32[35,17,3,3]", "f32[35]"],
        "f32[1,35,4,5]{c16,halo=1x1}",
        conv(pad=1),
    ),
    "first_layer_strided": (
        ["f32[1,3,11,9]{halo=1x1}", "f32[24,3,3,3]", "f32[24]"],
        "f32[1,24,6,5]{c16}",
        conv(stride=2, pad=1),
    ),
    "odd_channels_1x1": (
        ["f32[2,24,5,6]{c16}", "f32[40,24,1,1]", "f32[40]"],
        "f32[2,40,5,6]{c16}",
        conv(),
    ),
    "blocked_depthwise": (
        ["f32[1,40,6,9]{c16,halo=1x1}", "f32[40,1,3,3]", "f32[40]"],
        "f32[1,40,6,9]{c16}",
        conv(pad=1, groups=40),
    ),
    "blocked_groups": (
        ["f32[1,32,3,2]{c16,halo=1x1}", "f32[64,16,3,3]", "f32[64]"],
        "f32[1,64,3,2]{c16}",
        conv(pad=1, groups=2),
    ),
    "plain_groups": (
        ["f32[1,20,5,6]", "f32[12,5,1,1]", "f32[12]"],
        "f32[1,12,5,6]",
        conv(groups=4),
    ),
    "plain_depthwise": (
        ["f32[1,5,9,21]", "f32[5,1,3,3]", "f32[5]"],
        "f32[1,5,5,11]",
        conv(stride=2, pad=1, groups=5),
    ),
    "plain_borders_tested": (
        ["f32[1,4,5,19]", "f32[3,4,3,3]", "f32[3]"],
        "f32[1,3,5,19]",
        conv(pad=1),
    ),
}


@pytest.mark.parametrize("case", CONVOLUTIONS)
@pytest.mark.parametrize("constants", ["BC", ""])
def test_convolutions_are_right_in_every_layout(case: str, constants: str) -> None:
    check(computation(*CONVOLUTIONS[case]), constants)


def matmul(transposed: bool) -> Callable[..., None]:
    def define(k: Lowering, a: Handle, b: Handle, y: Handle) -> None:
        *batch, m, n = k.axes(y.shape, "stmn"[4 - y.rank :])
        depth = k.axis(a.shape[-1], "k")
        own = batch[len(batch) - (b.rank - 2) :]
        right = b[[*own, n, depth]] if transposed else b[[*own, depth, n]]
        k.assign(y[[*batch, m, n]], k.sum(a[[*batch, m, depth]] * right, over=depth))

    return define


def transposed_conv(k: Lowering, x: Handle, w: Handle, y: Handle) -> None:
    n, o, r, c = k.axes(y.shape, "noyx")
    i = k.axis(x.shape[1], "i")
    source = x[n, i, affine.floordiv(r, 2), affine.floordiv(c, 2)]
    k.assign(y[n, o, r, c], k.sum(source * w[i, o, affine.mod(r, 2), affine.mod(c, 2)], over=i))


@pytest.mark.parametrize("constants", ["B", ""])
def test_a_transposed_convolution_runs_its_lanes_over_every_other_pixel(constants: str) -> None:
    c = computation(["f32[1,6,3,19]", "f32[6,5,2,2]"], "f32[1,5,6,38]", transposed_conv)
    check(c, constants)
    made = schedule(c, frozenset(constants), CodeOptions(TARGETS[0]))
    assert "vector xgl in 0..16" in str(made.kernel)


MATMULS = [
    ("f32[5,20]", "f32[20,40]", "f32[5,40]", False),
    ("f32[1,70]", "f32[100,70]", "f32[1,100]", True),
    ("f32[1,50]", "f32[2,50]", "f32[1,2]", True),
    ("f32[2,5,20]", "f32[20,7]", "f32[2,5,7]", False),
    ("f32[9,12]", "f32[12,77]", "f32[9,77]", False),
    ("f32[9,12]", "f32[12,40]", "f32[9,40]", False),
    ("f32[2,5,33]", "f32[2,7,33]", "f32[2,5,7]", True),
    ("f32[2,3,4,6]", "f32[2,3,6,35]", "f32[2,3,4,35]", False),
]


@pytest.mark.parametrize(("a", "b", "y", "transposed"), MATMULS)
@pytest.mark.parametrize("constants", ["B", ""])
def test_matrix_products_are_right(
    a: str, b: str, y: str, transposed: bool, constants: str
) -> None:
    check(computation([a, b], y, matmul(transposed)), constants)


def softmax(k: Lowering, x: Handle, y: Handle) -> None:
    i, j, c = k.axes(x.shape)
    top, total = (k.temporary((x.shape[0], x.shape[2]), DType.f32, h) for h in ("TOP", "TOTAL"))
    k.assign(top[i, c], k.reduce("max", x[i, j, c], over=j))
    k.assign(total[i, c], k.sum(k.exp(x[i, j, c] - top[i, c]), over=j))
    k.assign(y[i, j, c], k.exp(x[i, j, c] - top[i, c]) / total[i, c])


def mean(k: Lowering, x: Handle, y: Handle) -> None:
    n, c = k.axes(x.shape[:2], "nc")
    over = k.axes(x.shape[2:], "yx")
    size = x.shape[2] * x.shape[3]
    k.assign(y[n, c, 0, 0], k.sum(x[n, c, over], over=over) * (1 / size))


def max_pool(k: Lowering, x: Handle, y: Handle) -> None:
    n, c, r, s = k.axes(y.shape, "ncyx")
    ky, kx = k.axes((3, 2), "uv")
    inside = x.padded([n, c, r * 2 + ky - 1, s * 2 + kx - 1], -1e30)
    k.assign(y[n, c, r, s], k.reduce("max", inside, over=(ky, kx)))


def spread_pool(k: Lowering, x: Handle, y: Handle) -> None:
    n, c, r, s = k.axes(y.shape, "ncyx")
    ky, kx = k.axes((3, 4), "uv")
    inside = x.padded([n, c, r * 2 + ky * 3 - 3, s * 3 + kx * 2 - 2], -1e30)
    k.assign(y[n, c, r, s], k.reduce("max", inside, over=(ky, kx)))


def largest(k: Lowering, x: Handle, y: Handle) -> None:
    i = k.axes(x.shape, "ncyx")
    k.assign(y[()], k.reduce("max", x[i], over=i))


def largest_of_rows(k: Lowering, x: Handle, y: Handle) -> None:
    i, j = k.axes(x.shape)
    k.assign(y[i], k.reduce("max", x[i, j], over=j))


def total(k: Lowering, x: Handle, y: Handle) -> None:
    i = k.axes(x.shape, "ncyx")
    k.assign(y[()], k.sum(x[i], over=i))


REDUCTIONS = {
    "largest_of_blocks": (["f32[1,40,9,19]{c16,halo=1x2}"], "f32[]", largest),
    "total_of_blocks": (["f32[2,21,3,7]{c16}"], "f32[]", total),
    "total_of_short_rows": (["f32[2,3,37,17]"], "f32[]", total),
    "softmax_inner": (["f32[3,37,1]"], "f32[3,37,1]", softmax),
    "softmax_uneven": (["f32[3,117,1]"], "f32[3,117,1]", softmax),
    "softmax_middle": (["f32[2,7,5]"], "f32[2,7,5]", softmax),
    "mean_plain": (["f32[2,5,7,6]"], "f32[2,5,1,1]", mean),
    "mean_long": (["f32[1,2,9,19]"], "f32[1,2,1,1]", mean),
    "mean_blocked": (["f32[1,40,7,6]{c16}"], "f32[1,40,1,1]{c16}", mean),
    "mean_blocked_to_plain": (["f32[1,20,3,4]{c16,halo=1x1}"], "f32[1,20,1,1]", mean),
    "pool_blocked": (["f32[1,20,9,11]{c16}"], "f32[1,20,5,6]{c16,halo=1x1}", max_pool),
    "pool_plain": (["f32[1,3,9,40]"], "f32[1,3,5,20]", max_pool),
    "pool_in_steps_of_three": (["f32[1,3,11,61]"], "f32[1,3,5,20]", spread_pool),
    "largest_of_short_rows": (["f32[53,5]"], "f32[53]", largest_of_rows),
}


@pytest.mark.parametrize("case", REDUCTIONS)
def test_reductions_are_right(case: str) -> None:
    check(computation(*REDUCTIONS[case]))


@pytest.mark.parametrize("case", ["pool_in_steps_of_three", "largest_of_short_rows"])
def test_results_whose_operands_lie_steps_apart_share_vectors(case: str) -> None:
    made = schedule(computation(*REDUCTIONS[case]), frozenset(), CodeOptions(TARGETS[1]))
    assert any(b.shape[-1:] == (8,) for b in made.kernel.registers)


def test_blocks_of_one_vector_are_summed_in_several_chains() -> None:
    made = schedule(
        computation(["f32[1,32,9,8]{c16}"], "f32[]", total), frozenset(), CodeOptions(TARGETS[0])
    )
    assert [b.shape for b in made.kernel.registers if len(b.shape) > 1] == [(4, 1, 16)]


def scaled_sum(k: Lowering, a: Handle, b: Handle, c: Handle, y: Handle) -> None:
    i = k.axes(y.shape, "ncyx")
    k.assign(y[i], k.max(a[i] + b[i] * c.broadcast(i), 0.0))


def copy(k: Lowering, x: Handle, y: Handle) -> None:
    i = k.axes(x.shape, "ncyx")
    k.assign(y[i], x[i])


def transpose(k: Lowering, x: Handle, y: Handle) -> None:
    n, c, r, s = k.axes(x.shape, "ncyx")
    k.assign(y[n, r, s, c], x[n, c, r, s])


def concat(k: Lowering, a: Handle, b: Handle, y: Handle) -> None:
    n, c, r, s = k.axes(a.shape, "ncyx")
    k.assign(y[n, c, r, s], a[n, c, r, s])
    n, c, r, s = k.axes(b.shape, "ncyx")
    k.assign(y[n, c + a.shape[1], r, s], b[n, c, r, s])


def second_part(k: Lowering, x: Handle, y: Handle) -> None:
    n, c, r, s = k.axes(y.shape, "ncyx")
    k.assign(y[n, c, r, s], x[n, c + y.shape[1], r, s])


POINTWISE = {
    "blocked_mixed_halo": (
        ["f32[2,20,9,5]{c16}", "f32[2,20,9,5]{c16,halo=1x2}", "f32[20,1,1]"],
        "f32[2,20,9,5]{c16}",
        scaled_sum,
    ),
    "plain": (["f32[2,3,9,11]", "f32[2,3,9,11]", "f32[3,1,1]"], "f32[2,3,9,11]", scaled_sum),
    "scalar": (["f32[2,3,4,5]", "f32[2,3,4,5]", "f32[1]"], "f32[2,3,4,5]", scaled_sum),
    "to_blocks": (["f32[1,20,5,6]"], "f32[1,20,5,6]{c16,halo=2x1}", copy),
    "to_blocks_of_long_rows": (["f32[1,20,3,37]"], "f32[1,20,3,37]{c16,halo=1x0}", copy),
    "to_blocks_of_a_word": (["u8[2,3,5,21]"], "u8[2,3,5,21]{c4,halo=1x2}", copy),
    "to_blocks_of_words": (["i8[1,6,3,37]"], "i8[1,6,3,37]{c4}", copy),
    "from_blocks": (["f32[1,20,5,6]{c16}"], "f32[1,20,5,6]", copy),
    "from_blocks_of_long_rows": (["f32[1,40,2,21]{c16,halo=0x1}"], "f32[1,40,2,21]", copy),
    "transpose": (["f32[1,5,3,20]"], "f32[1,3,20,5]", transpose),
    "concat_aligned": (
        ["f32[1,32,3,5]{c16}", "f32[1,24,3,5]{c16}"],
        "f32[1,56,3,5]{c16,halo=1x1}",
        concat,
    ),
    "concat_odd": (["f32[1,20,3,5]{c16}", "f32[1,24,3,5]{c16}"], "f32[1,44,3,5]{c16}", concat),
    # The padding lanes of the result are channels after the end of the operand.
    "second_part_odd": (["f32[1,42,2,3]{c16}"], "f32[1,21,2,3]{c16}", second_part),
    "concat_plain": (["f32[1,20,3,5]", "f32[1,4,3,5]"], "f32[1,24,3,5]", concat),
}


@pytest.mark.parametrize("case", POINTWISE)
@pytest.mark.parametrize("constants", ["C", ""])
def test_pointwise_stages_are_right(case: str, constants: str) -> None:
    check(computation(*POINTWISE[case]), constants)


def test_weights_of_a_blocked_convolution_are_packed_in_reading_order() -> None:
    made = schedule(
        computation(*CONVOLUTIONS["blocked_3x3"]), frozenset("BC"), CodeOptions(TARGETS[0])
    )
    assert set(made.packings) == {"B", "C"}
    assert made.packings["B"].shape[-1] == 16


def test_a_fused_loop_that_is_not_adjacent_is_refused() -> None:
    c = computation(["f32[3,4,5,6]"], "f32[3,4,5,6]", copy)
    nest = nest_of(c.stages[0], c.tensors)
    with pytest.raises(CompileError, match="E-SCHEDULE-MOVE"):
        nest.fuse("n", "y", "f")


def test_inner_parts_stay_inside_their_outer_loop() -> None:
    c = computation(["f32[3,4,5,6]"], "f32[3,4,5,6]", copy)
    nest = nest_of(c.stages[0], c.tensors).split("x", 4)
    with pytest.raises(CompileError, match="must run inside"):
        nest.reorder("xi", "xo")


def test_a_vector_loop_must_be_innermost() -> None:
    c = computation(["f32[3,4,5,6]"], "f32[3,4,5,6]", copy)
    with pytest.raises(CompileError, match="innermost"):
        nest_of(c.stages[0], c.tensors).vectorize("c")
