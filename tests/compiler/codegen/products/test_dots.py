"""Tests of dot steps, against the interpreter, which executes them element by element."""

from dataclasses import replace

import pytest

from compiler.codegen.jit import assembly
from compiler.codegen.module import module_ir
from compiler.loops.text import parse_kernel
from compiler.targets.target import Target, by_name, host
from tests.kernel_runs import compare


def _targets() -> list[Target]:
    """Return targets that can run here: with VNNI, without it, and with other vector widths."""
    found, v3 = [host()], by_name("x86-64-v3")
    if host().is_x86:
        found.append(by_name("x86-64"))
    if host().is_x86 and host().vector_bytes >= 32:
        found.append(v3)
    if "+avxvnni" in host().features.split(","):
        found.append(replace(v3, name="avxvnni", features=f"{v3.features},+avxvnni"))
    return found


TARGETS = _targets()


def kernel(left: str, right: str, lanes: int) -> str:
    return f"""
    kernel k(x: {left}[6,12] input, w: {right}[3,{lanes},4] constant, y: i32[6,{lanes}] output) {{
      register acc: i32[6,{lanes}]
      unroll m in 0..6 {{ vector n in 0..{lanes} {{ acc[m, n] = i32(-7) }} }}
      for ko in 0..3 {{ unroll m in 0..6 {{ vector n in 0..{lanes} {{ dot kd in 0..4 {{
        acc[m, n] = add(acc[m, n], mul(to_i32(x[m, 4*ko+kd]), to_i32(w[ko, n, kd])))
      }} }} }} }}
      unroll m in 0..6 {{ vector n in 0..{lanes} {{ y[m, n] = acc[m, n] }} }}
    }}"""


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize("signs", ["u8 i8", "i8 u8", "i8 i8", "u8 u8"])
def test_steps_are_exact_for_all_signs_and_numbers_of_lanes(signs, target):
    left, right = signs.split()
    for lanes in (16, 5, 40, 3):
        compare(kernel(left, right, lanes), target=target)


SAME_SHAPES = {
    "the largest sums wrap": """
        dot d in 0..4 { a[n] = add(a[n], mul(to_i32(x[d]), to_i32(w[n, d]))) }""",
    "three products are written out": """
        dot d in 0..3 { a[n] = add(a[n], mul(to_i32(x[d+1]), to_i32(w[n, d]))) }""",
    "elements that are no neighbours are written out": """
        dot d in 0..4 { a[n] = add(a[n], mul(to_i32(x[4*d]), to_i32(w[n, d]))) }""",
    "the register may stand behind": """
        dot d in 0..4 { a[n] = add(mul(to_i32(x[d]), to_i32(w[n, d])), a[n]) }""",
    "the larger of two is no sum": """
        dot d in 0..4 { a[n] = max(a[n], mul(to_i32(x[d]), to_i32(w[n, d]))) }""",
}


@pytest.mark.parametrize("name", SAME_SHAPES)
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_other_dot_loops(name, target):
    compare(
        f"""
        kernel k(x: u8[16] input, w: i8[8,4] constant, y: i32[8] output) {{
          register a: i32[8]
          vector n in 0..8 {{ a[n] = i32(2147483600) }}
          for k in 0..5 {{ vector n in 0..8 {{ {SAME_SHAPES[name]} }} }}
          vector n in 0..8 {{ y[n] = a[n] }}
        }}""",
        target=target,
    )


WANTED = {
    "x86-64-amx": "vpdpbusd", "x86-64-v4": "vpmaddwd", "x86-64-v3": "vpmaddwd",
    "x86-64": "pmaddwd", "neoverse-v1": "sdot", "apple-m1": "sdot",
}  # fmt: skip


@pytest.mark.parametrize("name", WANTED)
def test_the_instruction_of_each_machine(name):
    target = by_name(name)
    text = assembly(module_ir({"k": parse_kernel(kernel("u8", "i8", 16))}, [], target), target)
    assert WANTED[name] in text


def test_machines_without_dot_products_get_code_too():
    target = by_name("aarch64")
    text = assembly(module_ir({"k": parse_kernel(kernel("u8", "i8", 16))}, [], target), target)
    assert "mla" in text
    assert "dot" not in text
