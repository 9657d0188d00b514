"""Tests of int8 dot products in steps of four: oracle, interpreter and machine code agree."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.compute.computation import Computation
from compiler.compute.evaluate import evaluate
from compiler.compute.text import parse_computation
from compiler.errors import CompileError
from compiler.ir.types import DType
from compiler.loops.interpret import interpret
from compiler.loops.text import parse_kernel
from compiler.loops.verify import verify_kernel
from compiler.schedule.policy import schedule
from compiler.schedule.writing.physical import nest_of
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name, host
from tests.kernel_runs import Array, run_native
from tests.physical_arrays import memory_for, picked_up

TARGETS = [host(), by_name("x86-64-v3")] if host().vector_bytes >= 32 else [host()]
"""Targets, with the contents of padding in blocks, which must not affect results."""


def operands(c: Computation) -> dict[str, Array]:
    rng = np.random.default_rng(3)
    made: dict[str, Array] = {}
    for n in c.inputs:
        t = c.tensors[n]
        low = -128 if t.dtype is DType.i8 else 0
        made[n] = rng.integers(low, low + 256, t.static_shape).astype(t.dtype.numpy)
    return made


def check(text: str, steps: bool = True) -> None:
    c = parse_computation(text)
    arrays = operands(c)
    wanted = evaluate(c, arrays)
    for target in TARGETS:
        made = schedule(c, frozenset("W"), CodeOptions(target))
        verify_kernel(made.kernel)
        assert parse_kernel(str(made.kernel)) == made.kernel
        assert any("tensorize(" in m for m in made.moves) is steps
        for run in (interpret, lambda k, m, t=target: run_native(k, m, t)):
            memory = memory_for(made, c.tensors, arrays)
            run(made.kernel, memory)
            for n in c.outputs:
                np.testing.assert_array_equal(picked_up(memory[n], c.tensors[n]), wanted[n])


@pytest.mark.parametrize("sizes", [(9, 37, 22), (1, 48, 64), (5, 3, 8), (2, 70, 3)])
@pytest.mark.parametrize("signs", ["u8 i8", "i8 i8"])
def test_products_of_matrices(sizes: tuple[int, int, int], signs: str):
    m, n, k = sizes
    left, right = signs.split()
    check(
        f"""computation mm(A: {left}[{m},{k}], W: {right}[{k},{n}]) -> Y: i32[{m},{n}] {{
        Y[m, n] = reduce_add([k], mul(to_i32(A[m, k]), to_i32(W[k, n])))  for m<{m}, n<{n}, k<{k}
        }}"""
    )


def convolution(channels: int, filters: int, block: int, height: int, width: int) -> str:
    image = f"inside([(y+ky-1, {height}), (x+kx-1, {width})], X[n, i, y+ky-1, x+kx-1], u8(0))"
    size = f"{height},{width}"
    return f"""
    computation cv(X: u8[1,{channels},{size}]{{c{block},halo=1x1}}, W: i8[{filters},{channels},3,3])
    -> Y: u8[1,{filters},{size}]{{c16}} {{
      Y[n, o, y, x] = to_u8(max(reduce_add([i, ky, kx],
        mul(to_i32({image}), to_i32(W[o, i, ky, kx]))), i32(5)))
        for n<1, o<{filters}, y<{height}, x<{width}, i<{channels}, ky<3, kx<3
    }}"""


@pytest.mark.parametrize(
    "sizes", [(20, 21, 16, 3, 6), (3, 17, 4, 7, 6), (32, 48, 16, 3, 5), (6, 20, 16, 4, 6)]
)
def test_convolutions_of_blocked_images(sizes: tuple[int, int, int, int, int]):
    check(convolution(*sizes))


def test_convolutions_in_groups():
    check("""
    computation cv(X: u8[2,64,3,6]{c16}, W: i8[64,32,1,1]) -> Y: i32[2,64,3,6]{c16} {
      Y[n, o, y, x] = reduce_add([i],
        mul(to_i32(X[n, 32*(o//32)+i, y, x]), to_i32(W[o, i, 0, 0])))
        for n<2, o<64, y<3, x<6, i<32
    }""")


def test_what_has_no_neighbours_along_the_reduction_takes_no_steps():
    check(
        """
        computation cv(X: u8[1,8,5,6], W: i8[5,8,1,1]) -> Y: i32[1,5,5,6] {
          Y[n, o, y, x] = reduce_add([i], mul(to_i32(X[n, i, y, x]), to_i32(W[o, i, 0, 0])))
            for n<1, o<5, y<5, x<6, i<8
        }""",
        steps=False,
    )


def test_only_the_reduction_can_be_a_dot_step():
    c = parse_computation("""
    computation mm(A: u8[5,8], W: i8[8,6]) -> Y: i32[5,6] {
      Y[m, n] = reduce_add([k], mul(to_i32(A[m, k]), to_i32(W[k, n])))  for m<5, n<6, k<8
    }""")
    (stage,) = c.stages
    with pytest.raises(CompileError, match="not a loop of the reduction"):
        nest_of(stage, c.tensors).tensorize("n", "dot")
