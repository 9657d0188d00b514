"""Tests of function signatures: the parameter attributes that LLVM may rely on."""

from __future__ import annotations

from compiler.codegen.llvm import function_text
from compiler.loops.text import parse_kernel
from compiler.targets.target import by_name


def test_params_that_may_share_memory_are_not_called_apart() -> None:
    kernel = parse_kernel(
        "kernel add(X: f32[16] input, Z: f32[4] input, Y: f32[16] output) {\n"
        "  vector i in 0..16 {\n"
        "    Y[i] = add(X[i], Z[0])\n"
        "  }\n"
        "}"
    )
    text = function_text(kernel, "add", by_name("x86-64-v4")).text
    head = next(line for line in text.splitlines() if line.startswith("define"))
    assert [("noalias" in p) for p in head.split(",")] == [False, True, False]
