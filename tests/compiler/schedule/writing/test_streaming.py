"""Tests of non-temporal stores: only for results that exceed all caches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import compiler
from compiler.codegen.jit import Library
from compiler.codegen.llvm import function_text
from compiler.codegen.module import module_ir
from compiler.compute.lower import lower_node
from compiler.loops.nodes import Kernel
from compiler.loops.text import parse_kernel
from compiler.loops.verify import verify_kernel
from compiler.runtime.storage import aligned_bytes
from compiler.schedule.policy import schedule
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name, host

CHAIN = "graph g(x: f32[{0}], z: f32[{0}]) {{ a: f32[{0}] = mul(x, z) return a }}"
SUM = "graph g(x: f32[5000,3]) { y: f32[5000] = reduce_sum(x, axes=[1], keepdims=false) return y }"


def kernel_of(text: str, l3_bytes: int, name: str = "x86-64-v4") -> Kernel:
    g = compiler.parse(text)
    lowered = lower_node(g.nodes[0], g)
    assert lowered is not None
    target = replace(by_name(name), l3_bytes=l3_bytes)
    made = schedule(lowered.computation, frozenset(), CodeOptions(target)).kernel
    verify_kernel(made)
    assert parse_kernel(str(made)) == made
    return made


def schedule_here(text: str) -> Kernel:
    g = compiler.parse(text)
    lowered = lower_node(g.nodes[0], g)
    assert lowered is not None
    options = CodeOptions(replace(host(), l3_bytes=64))
    return schedule(lowered.computation, frozenset(), options).kernel


def test_only_results_that_no_cache_holds_pass_by_the_caches() -> None:
    assert "stream Y[" in str(kernel_of(CHAIN.format("37,129"), 4 * 37 * 129))
    assert "stream" not in str(kernel_of(CHAIN.format("37,129"), 4 * 37 * 129 + 1))


def test_results_of_sums_are_stored_as_ever() -> None:
    assert "stream" not in str(kernel_of(SUM, 16))


@pytest.mark.parametrize(("name", "fence"), [("x86-64-v3", True), ("aarch64", False)])
def test_a_fence_stands_at_the_end_where_the_machine_needs_it(name: str, fence: bool) -> None:
    text = function_text(kernel_of(CHAIN.format("37,128"), 64, name), "f", by_name(name)).text
    assert "!nontemporal !64" in text
    assert ("call void @llvm.x86.sse.sfence()\n  ret void" in text) == fence


def test_vectors_that_do_not_fill_lines_are_stored_as_ever() -> None:
    kernel = kernel_of(CHAIN.format("37,129"), 64)
    rows = parse_kernel(
        "kernel k(x: f32[3,17] input, y: f32[3,17] output) { for i in 0..3 { vector j in 0..16 { "
        "stream y[i, j] = x[i, j] } } }"
    )
    assert "!nontemporal" in function_text(kernel, "f", by_name("x86-64-v4")).text
    assert "!nontemporal" not in function_text(rows, "f", by_name("x86-64-v4")).text


@pytest.mark.parametrize("shape", ["37,128", "37,129", "4211"])
def test_what_is_streamed_is_all_there(shape: str) -> None:
    kernel = schedule_here(CHAIN.format(shape))
    sizes = tuple(map(int, shape.split(",")))
    chance = np.random.default_rng(1)
    x, z = (chance.standard_normal(sizes, np.float32) for _ in range(2))

    made = aligned_bytes(x.nbytes).view(np.float32).reshape(sizes)
    made[:] = np.nan
    library = Library.compile(module_ir({"k": kernel}, [], host()), host())
    library.function("k", 3)(x.ctypes.data, z.ctypes.data, made.ctypes.data)
    np.testing.assert_array_equal(made, x * z)
