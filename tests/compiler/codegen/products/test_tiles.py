"""Tests of tile loops: by emulated tiles, by plain loops, and the selected instructions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compiler.codegen.jit import assembly
from compiler.codegen.module import module_ir
from compiler.loops.text import parse_kernel
from compiler.targets.target import Target, by_name, host
from tests.kernel_runs import compare, random_arrays, run_native

AMX = by_name("x86-64-amx")
TARGETS = [replace(host(), name="emulated", emulates_tiles=True), host()]
ROUNDING = 1e-5

SUMS = {"bf16": "f32", "i8": "i32", "u8": "i32"}
GROUP = {"bf16": 2, "i8": 4, "u8": 4}


def kernel(left: str = "bf16", right: str = "bf16", rows: int = 16, lanes: int = 16) -> str:
    """Return a kernel of two by two tiles: two steps of 64 bytes, then a step of half as many."""
    total, g = SUMS[left], GROUP[left]
    width, whole = 40 * g, 16 * g

    def body(x: str, w: str) -> str:
        return f"s[a,b,r,c] = add(s[a,b,r,c], mul(to_{total}({x}), to_{total}({w})))"

    return f"""
    kernel k(x: {left}[2,{rows},{width}] input, w: {right}[40,2,{lanes},{g}] constant,
             s: {total}[2,2,{rows},{lanes}] temporary, y: {total}[{2 * rows},{2 * lanes}] output) {{
      unroll a in 0..2 {{ unroll b in 0..2 {{ tile r in 0..{rows} {{ vector c in 0..{lanes} {{
        s[a,b,r,c] = {total}(0)
      }} }} }} }}
      for k in 0..2 {{ unroll a in 0..2 {{ unroll b in 0..2 {{ tile r in 0..{rows} {{
        for p in 0..16 {{ vector c in 0..{lanes} {{ dot d in 0..{g} {{
          {body(f"x[a,r,{whole}*k+{g}*p+d]", "w[16*k+p,b,c,d]")}
      }} }} }} }} }} }} }}
      unroll a in 0..2 {{ unroll b in 0..2 {{ tile r in 0..{rows} {{
        for p in 0..8 {{ vector c in 0..{lanes} {{ dot d in 0..{g} {{
          {body(f"x[a,r,{32 * g}+{g}*p+d]", "w[32+p,b,c,d]")}
      }} }} }} }} }} }}
      unroll a in 0..2 {{ unroll b in 0..2 {{ for r in 0..{rows} {{ vector c in 0..{lanes} {{
        y[{rows}*a+r, {lanes}*b+c] = s[a,b,r,c]
      }} }} }} }}
    }}"""


def instructions(text: str, target: Target = AMX) -> list[str]:
    made = assembly(module_ir({"k": parse_kernel(text)}, [], target), target)
    lines = (line.split() for line in made.splitlines() if line.startswith("\t"))
    return [words[0] for words in lines if words]


@pytest.mark.parametrize(("rows", "lanes"), [(16, 16), (5, 3), (1, 1), (17, 2)])
def test_tiles_of_any_shape(rows: int, lanes: int) -> None:
    compare(kernel(rows=rows, lanes=lanes), rtol=ROUNDING, target=TARGETS[0])


@pytest.mark.parametrize(("left", "right"), [("bf16", "bf16"), ("u8", "i8")])
def test_the_same_loops_without_tiles(left: str, right: str) -> None:
    rounding = ROUNDING if left == "bf16" else 0.0
    compare(kernel(left, right, 3, 5), rtol=rounding, target=TARGETS[1])


@pytest.mark.parametrize(
    ("left", "right", "name"),
    [("bf16", "bf16", "tdpbf16ps"), ("u8", "i8", "tdpbusd"), ("i8", "u8", "tdpbsud"),
     ("i8", "i8", "tdpbssd"), ("u8", "u8", "tdpbuud")],
)  # fmt: skip
def test_the_instruction_of_each_pair_of_types(left: str, right: str, name: str) -> None:
    compare(kernel(left, right, 3, 4), rtol=ROUNDING if left == "bf16" else 0, target=TARGETS[0])
    made = instructions(kernel(left, right))
    assert made.count(name) == 8  # four tiles in the loop, and four after it
    assert not {"call", "callq"} & set(made)


def test_operands_are_loaded_once_for_both_tiles_that_use_them() -> None:
    made = instructions(kernel())
    start = next(i for i, name in enumerate(made) if name == "tileloadd")
    loop = made[start : made.index("jl", start)]
    assert loop.count("tileloadd") == 4
    assert loop.count("tdpbf16ps") == 4
    assert not {"tilestored", "tilezero", "ldtilecfg"} & set(loop)


def test_other_shapes_need_another_configuration_and_sums_go_through_memory() -> None:
    made = instructions(kernel())
    assert made.count("ldtilecfg") == 2
    assert made.count("tilestored") == 8
    assert made.count("tilezero") == 4
    assert made.count("tilerelease") == 1


def test_one_configuration_is_set_once() -> None:
    text = kernel()
    in_loop = text.index("unroll a", text.index("for k"))
    begin = text.index("unroll a", in_loop + 1)
    end = text.index("unroll a", begin + 1)
    made = instructions(text[:begin] + text[end:])
    assert made.count("ldtilecfg") == 1
    assert made.index("ldtilecfg") < made.index("tilezero")


@pytest.mark.parametrize("name", ["x86-64", "x86-64-v3", "x86-64-v4", "aarch64", "apple-m1"])
def test_machines_without_tiles_run_the_loops(name: str) -> None:
    made = instructions(kernel(), by_name(name))
    assert not [word for word in made if word.startswith(("tile", "tdp", "ldtile"))]


STEP = "s[r,c] = add(s[r,c], mul(to_f32(x[r,2*p+d]), to_f32(w[p,c,d])))"


@pytest.mark.parametrize(
    "step",
    [
        "tile r in 0..17 { for p in 0..4 { vector c in 0..16 { dot d in 0..2 { %s } } } }".replace(
            "%s", STEP
        ),
        "tile r in 0..8 { for p in 0..4 { vector c in 0..17 { dot d in 0..2 { %s } } } }".replace(
            "%s", STEP
        ),
        "tile r in 0..8 { for p in 0..17 { vector c in 0..16 { dot d in 0..2 { %s } } } }".replace(
            "%s", STEP
        ),
        "tile r in 0..8 { for p in 1..4 { vector c in 0..16 { dot d in 0..2 { %s } } } }".replace(
            "%s", STEP
        ),
        "tile r in 0..8 { for p in 0..4 { vector c in 0..16 { dot d in 0..1 { %s } } } }".replace(
            "%s", STEP
        ),
        "tile r in 0..8 { unroll q in 0..2 { for p in 0..4 { vector c in 0..16 { dot d in 0..2 {"
        " s[r,c] = add(s[r,c], mul(to_f32(x[r,2*p+d]), to_f32(w[p,c,d]))) } } } } }",
        "tile r in 0..8 { for p in 0..4 { vector c in 0..16 { dot d in 0..2 {"
        " s[r,c] = add(s[r,c], mul(to_f32(x[r,p+4*d]), to_f32(w[p,c,d]))) } } } }",
        "tile r in 0..8 { for p in 0..4 { vector c in 0..16 { dot d in 0..2 {"
        " s[r,c] = add(s[r,c], mul(to_f32(x[r,2*p+d]), to_f32(w[c,p,d]))) } } } }",
        "tile r in 0..8 { for p in 0..4 { vector c in 0..16 { dot d in 0..2 {"
        " s[r,c+1] = add(s[r,c+1], mul(to_f32(x[r,2*p+d]), to_f32(w[p,c,d]))) } } } }",
        "tile r in 0..8 { vector c in 0..16 { s[r,c] = mul(s[r,c], f32(0.5)) } }",
    ],
)
def test_what_is_no_step_of_tiles_is_written_out(step: str) -> None:
    text = f"""
    kernel k(x: bf16[17,40] input, w: bf16[17,18,2] constant, s: f32[17,18] temporary,
             y: f32[17,18] output) {{
      for r in 0..17 {{ vector c in 0..18 {{ s[r,c] = f32(0.5) }} }}
      for k in 0..2 {{ {step} }}
      for r in 0..17 {{ vector c in 0..18 {{ y[r,c] = s[r,c] }} }}
    }}"""
    compare(text, rtol=ROUNDING, target=TARGETS[0])
    assert "tdpbf16ps" not in instructions(text)


def test_sums_go_on_from_what_is_in_memory() -> None:
    compare(
        f"""
        kernel k(x: bf16[6,8] input, w: bf16[4,7,2] constant, s: f32[6,7] temporary,
                 y: f32[6,7] output) {{
          for r in 0..6 {{ vector c in 0..7 {{ s[r,c] = f32(0.5) }} }}
          for k in 0..3 {{ tile r in 0..6 {{ for p in 0..4 {{ vector c in 0..7 {{
            dot d in 0..2 {{ {STEP} }} }} }} }} }}
          for r in 0..6 {{ vector c in 0..7 {{ y[r,c] = s[r,c] }} }}
        }}""",
        rtol=ROUNDING,
        target=TARGETS[0],
    )


def test_sums_that_outer_loops_move_are_stored_in_each_turn() -> None:
    """Tiles hold only loop-invariant sums; a block that changes with the iteration is stored."""
    text = f"""
    kernel k(x: bf16[6,8] input, w: bf16[4,7,2] constant, s: f32[3,6,7] temporary,
             y: f32[3,6,7] output) {{
      for t in 0..3 {{ tile r in 0..6 {{ vector c in 0..7 {{ s[t,r,c] = f32(0.0) }} }} }}
      for k in 0..2 {{ for t in 0..3 {{ tile r in 0..6 {{ for p in 0..4 {{ vector c in 0..7 {{
        dot d in 0..2 {{ {STEP.replace("s[r", "s[t,r")} }} }} }} }} }} }}
      for t in 0..3 {{ for r in 0..6 {{ vector c in 0..7 {{ y[t,r,c] = s[t,r,c] }} }} }}
    }}"""
    compare(text, rtol=ROUNDING, target=TARGETS[0])
    made = instructions(text)
    assert made.count("tileloadd") == 3
    assert made.count("tilestored") == 1


# The functions that emulate tiles, compared with Intel's manual


def as_tiles(x: np.ndarray, w: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return the result of TDPBF16PS for pairs x [M, K, 2], w [K, N, 2] and sums s [M, N]."""
    tiny = np.float32(2.0**-126)

    def flushed(v: np.ndarray) -> np.ndarray:
        return np.where(np.abs(v) < tiny, np.copysign(np.float32(0), v), v).astype(np.float32)

    halves = np.zeros((2, *s.shape), np.float32)
    x, w = flushed(x.astype(np.float32)), flushed(w.astype(np.float32))
    for k in range(x.shape[1]):
        for i in range(2):
            exact = np.outer(x[:, k, i].astype(np.float64), w[k, :, i].astype(np.float64))
            halves[i] = flushed((halves[i].astype(np.float64) + exact).astype(np.float32))
    return flushed(flushed(s) + flushed(halves[0] + halves[1]))


def test_emulated_sums_are_those_of_the_manual() -> None:
    text = f"""
    kernel k(x: bf16[9,12] input, w: bf16[6,5,2] constant, s: f32[9,5] output) {{
      tile r in 0..9 {{ for p in 0..6 {{ vector c in 0..5 {{ dot d in 0..2 {{ {STEP} }} }} }} }}
    }}"""
    k = parse_kernel(text)
    arrays = random_arrays(k, seed=5)
    arrays["x"][0, :4] = 1e-39  # denormal operands
    arrays["x"][1], arrays["w"][:, 1] = 3e-20, 2e-20  # products that would be denormal
    arrays["s"][0, 0], arrays["s"][1, 1], arrays["s"][2, 3] = 1e-40, 0.0, -0.0
    arrays["x"][3, 1] = np.inf
    arrays["x"][4, 2], arrays["w"][1, 2, 0] = np.inf, 0.0
    with np.errstate(invalid="ignore"):
        wanted = as_tiles(arrays["x"].reshape(9, 6, 2), arrays["w"], arrays["s"])
    run_native(k, arrays, TARGETS[0])
    np.testing.assert_array_equal(arrays["s"], wanted)
    assert np.isnan(wanted[4, 2])
    assert not wanted[1, 1]
