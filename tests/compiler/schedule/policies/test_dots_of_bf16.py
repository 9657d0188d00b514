"""Tests of bf16 dot products in steps of two: oracle, interpreter and machine code agree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compiler.compute.computation import Computation
from compiler.compute.evaluate import evaluate
from compiler.compute.text import parse_computation
from compiler.loops.interpret import interpret
from compiler.loops.text import parse_kernel
from compiler.loops.verify import verify_kernel
from compiler.schedule.policy import schedule
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name, host
from tests.kernel_runs import Array, run_native
from tests.physical_arrays import memory_for, picked_up

HAS_DOTS = by_name("x86-64-amx")
TARGETS = [host(), by_name("x86-64-v3")] if host().vector_bytes >= 32 else [host()]


def operands(c: Computation) -> dict[str, Array]:
    rng = np.random.default_rng(3)
    return {
        n: rng.standard_normal(c.tensors[n].static_shape).astype(c.tensors[n].dtype.numpy)
        for n in c.inputs
    }


def check(text: str, *, steps: bool = True) -> None:
    c = parse_computation(text)
    arrays = operands(c)
    wanted = evaluate(c, arrays)
    made = schedule(c, frozenset("W"), CodeOptions(replace(HAS_DOTS, name="host")))
    assert any("tensorize(" in m for m in made.moves) is steps
    for target in TARGETS:
        made = schedule(c, frozenset("W"), CodeOptions(target))
        verify_kernel(made.kernel)
        assert parse_kernel(str(made.kernel)) == made.kernel
        runs = [lambda k, m, t=target: run_native(k, m, t)]
        for run in (interpret, *runs) if target is TARGETS[0] else runs:
            memory = memory_for(made, c.tensors, arrays)
            run(made.kernel, memory)
            for n in c.outputs:
                a, b = picked_up(memory[n], c.tensors[n]), wanted[n]
                step = 1e-5 if a.dtype == np.float32 else 1e-2
                a, b = a.astype(np.float32), b.astype(np.float32)
                np.testing.assert_allclose(a, b, rtol=step, atol=step * float(np.abs(b).max()))


@pytest.mark.parametrize("sizes", [(9, 37, 22), (1, 40, 32), (5, 3, 8), (2, 70, 3), (3, 21, 17)])
def test_products_of_matrices(sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    check(
        f"""computation mm(A: bf16[{m},{k}], W: bf16[{k},{n}]) -> Y: f32[{m},{n}] {{
        Y[m, n] = reduce_add([k], mul(to_f32(A[m, k]), to_f32(W[k, n])))  for m<{m}, n<{n}, k<{k}
        }}"""
    )


def convolution(channels: int, filters: int, block: int) -> str:
    image = "inside([(y+ky-1, 4), (x+kx-1, 5)], to_f32(X[n, i, y+ky-1, x+kx-1]), f32(0.0))"
    return f"""
    computation cv(X: bf16[1,{channels},4,5]{{c{block},halo=1x1}},
      W: bf16[{filters},{channels},3,3])
    -> Y: bf16[1,{filters},4,5]{{c16}} {{
      Y[n, o, y, x] = to_bf16(max(reduce_add([i, ky, kx],
        mul({image}, to_f32(W[o, i, ky, kx]))), f32(-0.5)))
        for n<1, o<{filters}, y<4, x<5, i<{channels}, ky<3, kx<3
    }}"""


@pytest.mark.parametrize("sizes", [(20, 18, 16), (3, 17, 4), (5, 17, 16)])
def test_convolutions_of_blocked_images(sizes: tuple[int, int, int]) -> None:
    check(convolution(*sizes))


def test_pairs_of_pixels_where_channels_are_far_apart() -> None:
    """The first layer of a network: three channels in plain order, an odd number of taps."""
    check("""
    computation cv(X: bf16[1,3,9,11]{halo=1x1}, W: bf16[20,3,3,3]) -> Y: f32[1,20,5,6]{c16} {
      Y[n, o, y, x] = reduce_add([i, ky, kx], mul(
        inside([(2*y+ky-1, 9), (2*x+kx-1, 11)], to_f32(X[n, i, 2*y+ky-1, 2*x+kx-1]), f32(0.0)),
        to_f32(W[o, i, ky, kx])))
        for n<1, o<20, y<5, x<6, i<3, ky<3, kx<3
    }""")


def test_convolutions_in_groups() -> None:
    check("""
    computation cv(X: bf16[2,64,2,3]{c16}, W: bf16[64,32,1,1]) -> Y: f32[2,64,2,3]{c16} {
      Y[n, o, y, x] = reduce_add([i],
        mul(to_f32(X[n, 32*(o//32)+i, y, x]), to_f32(W[o, i, 0, 0])))
        for n<2, o<64, y<2, x<3, i<32
    }""")


@pytest.mark.parametrize("sizes", [(9, 37, 22), (5, 16, 7), (6, 3, 9)])
def test_products_of_matrices_that_are_no_constants(sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    check(
        f"""computation mm(A: bf16[2,{m},{k}], B: bf16[2,{k},{n}]) -> Y: f32[2,{m},{n}] {{
        Y[b, m, n] = reduce_add([k], mul(to_f32(A[b, m, k]), to_f32(B[b, k, n])))
          for b<2, m<{m}, n<{n}, k<{k}
        }}"""
    )


def test_pixels_in_plain_order_that_channels_are_summed_for() -> None:
    check("""
    computation cv(X: bf16[1,10,3,7], W: bf16[12,5,1,1]) -> Y: bf16[1,12,3,7] {
      Y[n, o, y, x] = to_bf16(flush(reduce_add([i],
        mul(to_f32(X[n, 5*(o//6)+i, y, x]), to_f32(W[o, i, 0, 0])))))
        for n<1, o<12, y<3, x<7, i<5
    }""")


@pytest.mark.parametrize(("columns", "steps"), [(19, True), (5, False)])
def test_pairs_put_together_for_all_lanes(columns: int, steps: bool) -> None:
    check(
        f"""computation mm(A: bf16[9,6], W: bf16[9,{columns}]) -> Y: f32[6,{columns}] {{
        Y[m, n] = reduce_add([k], mul(to_f32(A[k, m]), to_f32(W[k, n])))
          for m<6, n<{columns}, k<9
        }}""",
        steps=steps,
    )


def test_a_single_row_is_not_worth_putting_pairs_together_for() -> None:
    check(
        """computation mm(A: bf16[1,24], B: bf16[24,40]) -> Y: f32[1,40] {
        Y[m, n] = reduce_add([k], mul(to_f32(A[m, k]), to_f32(B[k, n]))) for m<1, n<40, k<24
        }""",
        steps=False,
    )


def test_depthwise_convolutions_take_no_steps() -> None:
    check(
        """
        computation cv(X: bf16[1,32,5,6]{c16}, W: f32[32,1,3,3]) -> Y: bf16[1,32,3,4]{c16} {
          Y[n, o, y, x] = to_bf16(reduce_add([ky, kx],
            mul(to_f32(X[n, o, y+ky, x+kx]), W[o, 0, ky, kx])))
            for n<1, o<32, y<3, x<4, ky<3, kx<3
        }""",
        steps=False,
    )
