"""Tests of lanes that each store one byte of a 32-bit word and preserve the other bytes."""

from __future__ import annotations

import pytest

from compiler.codegen.jit import assembly
from compiler.codegen.module import module_ir
from compiler.loops.text import parse_kernel
from compiler.targets.target import by_name
from tests.kernel_runs import compare

KERNEL = """
kernel k(x: {source}[3,37] input, y: {kind}[38,4] output) {{
  for m in 0..38 {{ vector c in 0..4 {{ y[m, c] = {kind}(7) }} }}
  unroll c in 0..3 {{
    for o in 0..2 {{ vector n in 0..{lanes} {{
      y[n+{lanes}*o+1, c] = to_{kind}(x[c, n+{lanes}*o])
    }} }}
    vector n in 0..{rest} {{ y[n+{start}+1, c] = to_{kind}(x[c, n+{start}]) }}
  }}
}}"""


@pytest.mark.parametrize("target", ["host", "x86-64-v3", "x86-64"])
@pytest.mark.parametrize("kind", ["u8", "i8"])
@pytest.mark.parametrize("source", ["i32", "u8"])
@pytest.mark.parametrize("lanes", [16, 8])
def test_each_byte_lands_in_its_word(source: str, kind: str, lanes: int, target: str) -> None:
    start = 2 * lanes
    text = KERNEL.format(source=source, kind=kind, lanes=lanes, rest=37 - start, start=start)
    compare(text, target=by_name(target))


def test_a_mask_stores_them_at_once() -> None:
    text = KERNEL.format(source="i32", kind="u8", lanes=16, rest=5, start=32)
    for name, at_once in (("x86-64-v4", True), ("x86-64-v3", False)):
        target = by_name(name)
        code = assembly(module_ir({"k": parse_kernel(text)}, [], target), target)
        assert ("vmovdqu8" in code and "{%k" in code) is at_once
