"""Tests of parallel loops on several threads, against the sequential interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.codegen.jit import assembly
from compiler.codegen.module import module_ir
from compiler.loops.interpret import interpret
from compiler.loops.text import parse_kernel
from compiler.targets.options import Forking
from compiler.targets.target import by_name, host
from tests.kernel_runs import random_arrays, run_native
from tests.platforms import OWN_THREADS

KERNELS = {
    "few rounds": "parallel i in 0..3 { vector j in 0..20 { y[i, j] = add(x[i, j], f32(1.0)) } }",
    "one iteration": "parallel i in 0..1 { vector j in 0..20 { y[i, j] = x[i, j] } }",
    "a late start": "parallel i in 2..9 { vector j in 0..20 { y[i, j] = x[i, j] } }",
    "two loops at once": """
      parallel i in 0..3 { parallel k in 0..3 { vector j in 0..20 { y[3*i+k, j] = x[i, j] } } }""",
    "uneven pieces": """
      parallel i in 0..4 {
        parallel k in 0..2 { vector j in 0..9 { y[i, 9*k+j] = x[i, j] } }
        vector j in 0..2 { y[i, j+18] = neg(x[i, j]) }
      }""",
    "neighbours": """
      parallel i in 0..4 { vector j in 0..20 { y[i, j] = x[i, j] } }
      vector j in 0..20 { y[4, j] = neg(x[4, j]) }
      parallel k in 5..9 { vector j in 0..20 { y[k, j] = abs(x[k, j]) } }""",
    "one after the other": """
      parallel i in 0..9 { vector j in 0..20 { t[i, j] = mul(x[i, j], f32(3.0)) } }
      parallel i in 0..9 { vector j in 0..20 { y[i, j] = add(t[8-i, j], x[i, j]) } }""",
    "inside a loop of all threads": """
      for c in 0..2 { parallel i in 0..9 { vector j in 0..10 { y[i, 10*c+j] = x[i, j] } } }""",
    "inside a loop that goes on": """
      for c in 0..5 { parallel i in 0..9 { vector j in 0..20 {
        y[i, j] = add(mul(y[i, j], f32(0.5)), x[i, c+j//20]) } } }""",
    "registers": """
      parallel i in 0..9 {
        vector l in 0..4 { r[l] = f32(0.0) }
        for k in 0..5 { vector l in 0..4 { r[l] = add(r[l], x[i, 4*k+l]) } }
        y[i, 0] = add(add(r[0], r[2]), add(r[1], r[3]))
        for j in 1..20 { y[i, j] = r[1] }
      }""",
    "a condition": """
      parallel i in 0..9 {
        if gt(x[i, 0], f32(0.0)) { vector j in 0..20 { y[i, j] = x[i, j] } }
      }""",
}


def kernel(body: str):
    return parse_kernel(
        "kernel k(x: f32[9,20] input, t: f32[9,20] temporary, y: f32[9,20] output) {"
        f" register r: f32[4] {body} }}"
    )


FORKINGS: tuple[Forking, ...] = ("pool", "gomp") if OWN_THREADS else ("gomp",)


@pytest.mark.parametrize("forking", FORKINGS)
@pytest.mark.parametrize("threads", [2, 3, 7])
@pytest.mark.parametrize("name", KERNELS)
def test_threads_compute_what_one_does(name: str, threads: int, forking: Forking):
    k = kernel(KERNELS[name])
    arrays = random_arrays(k)
    expected = {n: a.copy() for n, a in arrays.items()}
    interpret(k, expected)
    for target in (host(), by_name("x86-64-v3")) if host().is_x86 else (host(),):
        found = {n: a.copy() for n, a in arrays.items()}
        run_native(k, found, target, threads=threads, forking=forking)
        np.testing.assert_array_equal(found["y"], expected["y"])


OPEN = """kernel k[N](x: f32[N,20] input, y: f32[N,20] output) {
  parallel i in 0..N//4 {
    unroll k in 0..4 { vector j in 0..20 { y[4*i+k, j] = add(x[4*i+k, j], f32(1.0)) } }
  }
  for i in 0..N%4 { vector j in 0..20 { y[N//4*4+i, j] = neg(x[N//4*4+i, j]) } }
}"""


@pytest.mark.parametrize("n", [0, 1, 4, 7, 3000])
def test_open_sizes_are_shared_when_they_are_large(n: int):
    k = parse_kernel(OPEN)
    x = np.random.default_rng(1).normal(size=(n, 20)).astype(np.float32)
    arrays = {"x": x, "y": np.zeros_like(x)}
    expected = {"x": x, "y": np.zeros_like(x)}
    interpret(k, expected, {"N": n})
    run_native(k, arrays, sizes={"N": n}, threads=3, forking=FORKINGS[0])
    np.testing.assert_array_equal(arrays["y"], expected["y"])


def calls(text: str, function: str) -> int:
    return text.count(f"call void @{function}(")


def test_neighbours_that_do_not_touch_are_one_region():
    apart = module_ir({"k": kernel(KERNELS["neighbours"])}, [], host(), threads=2)
    assert calls(apart, "GOMP_parallel") == 1
    after = module_ir({"k": kernel(KERNELS["one after the other"])}, [], host(), threads=2)
    assert calls(after, "GOMP_parallel") == 2


def test_a_loop_of_all_threads_is_inside_the_region():
    text = module_ir({"k": kernel(KERNELS["inside a loop of all threads"])}, [], host(), threads=2)
    whole = text[text.index('define void @"k"') :]
    assert "phi" not in whole


def test_one_thread_has_no_region():
    text = module_ir({"k": kernel(KERNELS["few rounds"])}, [], host())
    assert "GOMP" not in text
    assert "omp_" not in text


def test_the_runtime_of_llvm_is_called_in_its_own_way():
    text = module_ir({"k": kernel(KERNELS["few rounds"])}, [], host(), threads=2, forking="kmpc")
    assert "__kmpc_fork_call" in assembly(text, host())
    assert 'call void @__kmpc_push_num_threads(ptr @"ident", i32 %caller, i32 2)' in text
    assert "GOMP" not in text
