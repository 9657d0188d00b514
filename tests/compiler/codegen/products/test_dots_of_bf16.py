"""Tests of dot steps of bf16: results of the interpreter, and the selected instruction."""

import pytest

from compiler.codegen.jit import assembly
from compiler.codegen.module import module_ir
from compiler.loops.text import parse_kernel
from compiler.targets.target import Target, by_name, host
from tests.kernel_runs import compare

ROUNDING = 3e-6
"""Error of a sum of a few products in f32, in any order."""


def _targets() -> list[Target]:
    """Return targets that can run here, with and without the instruction."""
    wide = host().is_x86 and host().vector_bytes >= 32
    return [host(), by_name("x86-64-v3")] if wide else [host()]


TARGETS = _targets()


def kernel(lanes: int) -> str:
    """Return a kernel of products of 6 x 7 with 7 x lanes, whose last step has one element."""
    products = "mul(to_f32(x[m, 2*ko+kd]), to_f32(w[ko, n, kd]))"
    last = "mul(to_f32(x[m, 6+kd]), to_f32(w[3, n, kd]))"
    return f"""
    kernel k(x: bf16[6,7] input, w: bf16[4,{lanes},2] constant, y: f32[6,{lanes}] output) {{
      register acc: f32[6,{lanes}]
      unroll m in 0..6 {{ vector n in 0..{lanes} {{ acc[m, n] = f32(0.5) }} }}
      for ko in 0..3 {{ unroll m in 0..6 {{ vector n in 0..{lanes} {{ dot kd in 0..2 {{
        acc[m, n] = add(acc[m, n], {products})
      }} }} }} }}
      unroll m in 0..6 {{ vector n in 0..{lanes} {{ dot kd in 0..1 {{
        acc[m, n] = add(acc[m, n], {last})
      }} }} }}
      unroll m in 0..6 {{ vector n in 0..{lanes} {{ y[m, n] = acc[m, n] }} }}
    }}"""


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize("lanes", [16, 5, 40, 3])
def test_steps_for_any_number_of_lanes(target: Target, lanes: int) -> None:
    compare(kernel(lanes), rtol=ROUNDING, target=target)


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize(
    "step",
    [
        "dot d in 0..2 { a[n] = add(a[n], mul(to_f32(x[3*d]), to_f32(w[n, d]))) }",
        "dot d in 0..2 { a[n] = add(mul(to_f32(x[d]), to_f32(w[n, d])), a[n]) }",
        "dot d in 0..2 { a[n] = max(a[n], mul(to_f32(x[d]), to_f32(w[n, d]))) }",
        "dot d in 0..2 { a[n] = add(a[n], mul(to_f32(x[d]), to_f32(w[n, 3*d]))) }",
    ],
)
def test_what_is_no_step_is_written_out(step: str, target: Target) -> None:
    compare(
        f"""
        kernel k(x: bf16[16] input, w: bf16[8,8] constant, y: f32[8] output) {{
          register a: f32[8]
          vector n in 0..8 {{ a[n] = f32(0.25) }}
          for k in 0..5 {{ vector n in 0..8 {{ {step} }} }}
          vector n in 0..8 {{ y[n] = a[n] }}
        }}""",
        rtol=ROUNDING,
        target=target,
    )


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize("lanes", [16, 5, 40])
def test_pairs_out_of_two_runs_of_lanes(lanes: int, target: Target) -> None:
    body = "a[n] = add(a[n], mul(to_f32(x[2*k+d]), to_f32(w[2*k+d, n])))"
    compare(
        f"""
        kernel k(x: bf16[11] input, w: bf16[11,{lanes}] input, y: f32[{lanes}] output) {{
          register a: f32[{lanes}]
          vector n in 0..{lanes} {{ a[n] = f32(0.25) }}
          for k in 0..5 {{ vector n in 0..{lanes} {{ dot d in 0..2 {{ {body} }} }} }}
          vector n in 0..{lanes} {{ dot d in 0..1 {{
            a[n] = add(a[n], mul(to_f32(x[10+d]), to_f32(w[10+d, n])))
          }} }}
          vector n in 0..{lanes} {{ y[n] = a[n] }}
        }}""",
        rtol=ROUNDING,
        target=target,
    )


WANTED = {"x86-64-amx": "vdpbf16ps", "neoverse-v1": "bfdot"}


@pytest.mark.parametrize("name", WANTED)
def test_the_instruction_of_each_machine(name: str) -> None:
    target = by_name(name)
    text = assembly(module_ir({"k": parse_kernel(kernel(16))}, [], target), target)
    assert WANTED[name] in text


@pytest.mark.parametrize("name", ["x86-64", "x86-64-v3", "x86-64-v4", "aarch64"])
def test_machines_without_it_multiply_what_they_widen(name: str) -> None:
    target = by_name(name)
    text = assembly(module_ir({"k": parse_kernel(kernel(16))}, [], target), target)
    assert not any(instruction in text for instruction in WANTED.values())
