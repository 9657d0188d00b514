"""Tests of partial stores of narrowed vectors: inactive lanes leave memory unchanged."""

from __future__ import annotations

import re

import numpy as np
import pytest

from compiler.codegen.jit import assembly
from compiler.codegen.llvm import function_text
from compiler.codegen.module import module_ir
from compiler.ir.types import DType
from compiler.loops.nodes import Kernel
from compiler.loops.text import parse_kernel
from compiler.targets.target import by_name, host
from tests.kernel_runs import compare, random_array

NARROWED = [
    ("i32", "u8"), ("i32", "i8"), ("i32", "i16"), ("i32", "u16"), ("i64", "i32"), ("i64", "u8"),
    ("i16", "i8"), ("i64", "i16"), ("f32", "bf16"), ("f32", "f16"), ("f64", "f32"), ("i32", "bool"),
]  # fmt: skip
"""Element types of computed and of stored values."""


def tail(source: str, kind: str, n: int, vector_bytes: int) -> Kernel:
    """Return column sums whose last n, at most two vectors, are stored from a register."""
    lanes = vector_bytes // DType.parse(source).nbytes
    text = f"""
    kernel k(x: {source}[2,{lanes + n}] input, y: {kind}[{lanes + n}] output) {{
      register a: {source}[{lanes}] register b: {source}[{n}]
      vector l in 0..{lanes} {{ a[l] = {source}(0) }}
      vector l in 0..{n} {{ b[l] = {source}(0) }}
      for r in 0..2 {{
        vector l in 0..{lanes} {{ a[l] = add(a[l], x[r, l]) }}
        vector l in 0..{n} {{ b[l] = add(b[l], x[r, l+{lanes}]) }}
      }}
      vector l in 0..{lanes} {{ y[l] = to_{kind}(a[l]) }}
      vector l in 0..{n} {{ y[l+{lanes}] = to_{kind}(b[l]) }}
    }}"""
    if source == kind:
        text = re.sub(rf"to_{kind}\((.*)\) \}}", r"\1 }", text)
    if source.startswith("f"):
        text = text.replace("f32(0)", "f32(0.0)").replace("f64(0)", "f64(0.0)")
    return parse_kernel(text)


def widths(source: str, vector_bytes: int) -> range:
    """Return lengths from one element to two vectors."""
    return range(1, 2 * (vector_bytes // DType.parse(source).nbytes) + 1)


def in_range(kernel: Kernel) -> dict[str, np.ndarray]:
    """Return operands with small positive sums, which every element type can represent."""
    chance = np.random.default_rng(3)
    return {
        b.name: chance.integers(0, 60, b.shape).astype(b.dtype.numpy)
        if b.role == "input"
        else random_array(b, chance)
        for b in kernel.params
    }


@pytest.mark.parametrize(("source", "kind"), NARROWED)
def test_tails_stay_within_their_buffer(source: str, kind: str) -> None:
    vector_bytes = host().vector_bytes
    for n in widths(source, vector_bytes):
        kernel = tail(source, kind, n, vector_bytes)
        compare(kernel, in_range(kernel))


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4", "neoverse-v1"])
@pytest.mark.parametrize(("source", "kind"), NARROWED)
def test_no_masked_store_has_one_live_lane(source: str, kind: str, name: str) -> None:
    target = by_name(name)
    for n in widths(source, target.vector_bytes):
        kernel = tail(source, kind, n, target.vector_bytes)
        for line in function_text(kernel, "k", target).text.splitlines():
            if "@llvm.masked.store" in line and "i1 true" in line:
                assert line.count("i1 true") > 1, f"{n} elements: {line}"


@pytest.mark.parametrize(("source", "kind"), [*NARROWED, ("f32", "f32"), ("f64", "f64")])
def test_known_tails_have_plain_stores_without_avx512(source: str, kind: str) -> None:
    target = by_name("x86-64-v3")
    for n in widths(source, target.vector_bytes):
        kernel = tail(source, kind, n, target.vector_bytes)
        assert "@llvm.masked.store" not in function_text(kernel, "k", target).text, n


FOUR_BYTES = re.compile(
    r"\t(vmovss|vmovd|vextractps|vpextrd|movl)\t[^()\n]*, [^,\n]*\([^\n]*\)$", re.M
)
"""x86 instructions that store an element before truncation."""


@pytest.mark.parametrize(("source", "kind"), [("i32", "u8"), ("i32", "i16"), ("f32", "bf16")])
def test_avx512_stores_the_truncated_element(source: str, kind: str) -> None:
    target = by_name("x86-64-v4")
    for n in (1, 2, 16, 17):
        kernel = tail(source, kind, n, target.vector_bytes)
        code = assembly(module_ir({"k": kernel}, [], target), target)
        assert "vpmov" in code, "vectors are truncated"
        assert not FOUR_BYTES.search(code), f"{n} elements"
