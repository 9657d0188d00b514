"""Tests of vector loops of open length: correct for every length, also without masks."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.loops.interpret import interpret
from compiler.loops.sizes import with_sizes
from compiler.loops.text import parse_kernel
from compiler.loops.verify import verify_kernel
from compiler.targets.target import Target, by_name, host
from tests.kernel_runs import random_arrays, run_native

TARGETS = [
    host(),
    *([by_name("x86-64")] if host().is_x86 else []),
    *([by_name("x86-64-v3")] if host().is_x86 and host().vector_bytes >= 32 else []),
]

KERNELS = {
    "side_by_side": """
    kernel k[N](x: f32[3,N] input, y: f32[3,N] output) {
      for i in 0..3 {
        for jo in 0..N//16 { vector jl in 0..16 { y[i, jl+16*jo] = exp(x[i, jl+16*jo]) } }
        vector jl in 0..N%16 { y[i, jl+16*(N//16)] = exp(x[i, jl+16*(N//16)]) }
      }
    }""",
    "bytes_beside_numbers": """
    kernel k[N](x: u8[N] input, y: f64[N] output) {
      vector j in 0..N { y[j] = to_f64(x[j]) }
    }""",
    "scattered": """
    kernel k[N](x: f32[N,3] input, y: f32[N,2] output) {
      vector j in 0..N%16 { y[j, 1] = mul(x[j, 2], x[j, 0]) }
    }""",
    "sums_in_registers": """
    kernel k[N](x: f32[5,N] input, w: f32[5] input, y: f32[N] output) {
      register acc: f32[1,16]
      for jo in 0..N//16 {
        vector jl in 0..16 { acc[0, jl] = f32(0.5) }
        for i in 0..5 { vector jl in 0..16 {
          acc[0, jl] = add(acc[0, jl], mul(w[i], x[i, jl+16*jo])) } }
        vector jl in 0..16 { y[jl+16*jo] = acc[0, jl] }
      }
      for left in 0..(N%16+15)//16 {
        vector jl in 0..N%16 { acc[0, jl] = f32(0.5) }
        for i in 0..5 { vector jl in 0..N%16 {
          acc[0, jl] = add(acc[0, jl], mul(w[i], x[i, jl+16*(N//16)])) } }
        vector jl in 0..N%16 { y[jl+16*(N//16)] = acc[0, jl] }
      }
    }""",
    "lanes_with_sums_of_their_own": """
    kernel k[N](x: f32[N] input, y: f32[2] output) {
      register acc: f32[8]
      vector jl in 0..8 { acc[jl] = f32(0.0) }
      for jo in 0..N//8 { vector jl in 0..8 { acc[jl] = add(acc[jl], x[jl+8*jo]) } }
      vector jl in 0..N%8 { acc[jl] = add(acc[jl], x[jl+8*(N//8)]) }
      y[0] = add(add(acc[0], acc[3]), acc[6])
      y[1] = add(add(acc[1], acc[2]), add(add(acc[4], acc[5]), acc[7]))
    }""",
}


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize("name", KERNELS)
def test_every_length_gives_what_the_loops_say(name: str, target: Target) -> None:
    kernel = parse_kernel(KERNELS[name])
    verify_kernel(kernel)
    for n in (1, 2, 5, 8, 15, 16, 17, 31, 40):
        sizes = {"N": n}
        arrays = random_arrays(with_sizes(kernel, sizes), seed=n)
        native = {k: a.copy() for k, a in arrays.items()}
        interpret(kernel, arrays, sizes)
        run_native(kernel, native, target, sizes=sizes)
        np.testing.assert_allclose(native["y"], arrays["y"], rtol=1e-5, atol=1e-5)
