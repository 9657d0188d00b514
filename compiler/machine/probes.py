"""The probes of `measure.py`: Loop IR kernels, each of which uses one resource at full speed."""

from __future__ import annotations

from compiler.dataclass import dataclass
from compiler.loops.nodes import Kernel
from compiler.loops.text import parse_kernel

ACCUMULATORS = 12
"""The number of independent chains of additions: enough to hide the latency of an addition, few
enough for 16 registers."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A kernel, and the number of operations or bytes that one call processes."""

    kernel: Kernel
    work: float


def peak_text(lanes: int, n_accumulators: int = ACCUMULATORS, iterations: int = 20000) -> str:
    """Return the text of a kernel that repeats multiply-adds of operands in registers."""
    return f"""
    kernel peak(x: f32[2,{lanes}] input, y: f32[{n_accumulators},{lanes}] output) {{
      register acc: f32[{n_accumulators},{lanes}]
      unroll a in 0..{n_accumulators} {{ vector l in 0..{lanes} {{ acc[a, l] = x[0, l] }} }}
      for t in 0..{iterations} {{
        unroll u in 0..4 {{ unroll a in 0..{n_accumulators} {{ vector l in 0..{lanes} {{
          acc[a, l] = add(acc[a, l], mul(x[0, l], x[1, l]))
        }} }} }}
      }}
      unroll a in 0..{n_accumulators} {{ vector l in 0..{lanes} {{ y[a, l] = acc[a, l] }} }}
    }}"""


def multiply_adds(lanes: int, iterations: int) -> Probe:
    """Return a probe of f32 multiply-adds with all operands in registers."""
    text = peak_text(lanes, iterations=iterations)
    return Probe(parse_kernel(text), 2.0 * 4 * iterations * ACCUMULATORS * lanes)


SMALL = {"int8": (4, "u8", "i8", "i32"), "bf16": (2, "bf16", "bf16", "f32")}
"""For each kind of dot product: the products per 32-bit lane, the types of both operands, and the
type of the sum."""


def dots(kind: str, lanes: int, iterations: int) -> Probe:
    """Return a probe of dot products in registers: `int8` (4 products per lane) or `bf16` (2)."""
    width, left, right, total = SMALL[kind]
    n = ACCUMULATORS
    zero = "i32(0)" if total == "i32" else "f32(0.0)"
    text = f"""
    kernel dots(x: {left}[{width}] input, w: {right}[{lanes},{width}] constant,
                y: {total}[{n},{lanes}] output) {{
      register acc: {total}[{n},{lanes}]
      unroll a in 0..{n} {{ vector l in 0..{lanes} {{ acc[a, l] = {zero} }} }}
      for t in 0..{iterations} {{
        unroll u in 0..4 {{ unroll a in 0..{n} {{ vector l in 0..{lanes} {{
          dot d in 0..{width} {{
            acc[a, l] = add(acc[a, l], mul(to_{total}(x[d]), to_{total}(w[l, d])))
          }}
        }} }} }}
      }}
      unroll a in 0..{n} {{ vector l in 0..{lanes} {{ y[a, l] = acc[a, l] }} }}
    }}"""
    return Probe(parse_kernel(text), 2.0 * 4 * iterations * n * lanes * width)


def tiles(kind: str, iterations: int) -> Probe:
    """Return a probe that multiplies 2 x 2 matrix tiles, with operands in the L1 cache."""
    group, left, right, total = SMALL[kind]
    zero = "i32(0)" if total == "i32" else "f32(0.0)"
    text = f"""
    kernel tiles(x: {left}[2,16,{16 * group}] input, w: {right}[2,16,16,{group}] constant,
                 s: {total}[2,2,16,16] temporary, y: {total}[1] output) {{
      unroll a in 0..2 {{ unroll b in 0..2 {{ tile r in 0..16 {{ vector c in 0..16 {{
        s[a, b, r, c] = {zero}
      }} }} }} }}
      for t in 0..{iterations} {{ unroll a in 0..2 {{ unroll b in 0..2 {{ tile r in 0..16 {{
        for p in 0..16 {{ vector c in 0..16 {{ dot d in 0..{group} {{
          s[a, b, r, c] = add(s[a, b, r, c],
            mul(to_{total}(x[a, r, {group}*p+d]), to_{total}(w[b, p, c, d])))
        }} }} }}
      }} }} }} }}
      y[0] = s[0, 0, 0, 0]
    }}"""
    return Probe(parse_kernel(text), 2.0 * 4 * iterations * 16 * 16 * 16 * group)


def reading(lanes: int, nbytes: int, iterations: int) -> Probe:
    """Return a probe that repeatedly sums the elements of a block of `nbytes` bytes."""
    n = max(nbytes // (4 * lanes * ACCUMULATORS), 1)
    shape = f"{ACCUMULATORS},{lanes}"
    text = f"""
    kernel reading(x: f32[{n},{shape}] input, y: f32[{shape}] output) {{
      register acc: f32[{shape}]
      unroll a in 0..{ACCUMULATORS} {{ vector l in 0..{lanes} {{ acc[a, l] = f32(0.0) }} }}
      for t in 0..{iterations} {{ for i in 0..{n} {{
        unroll a in 0..{ACCUMULATORS} {{ vector l in 0..{lanes} {{
          acc[a, l] = add(acc[a, l], x[i, a, l])
        }} }}
      }} }}
      unroll a in 0..{ACCUMULATORS} {{ vector l in 0..{lanes} {{ y[a, l] = acc[a, l] }} }}
    }}"""
    return Probe(parse_kernel(text), 4.0 * n * ACCUMULATORS * lanes * iterations)


def copying(lanes: int, nbytes: int) -> Probe:
    """Return a probe that copies memory; its `work` is the number of bytes copied."""
    n = max(nbytes // (16 * lanes), 1)
    text = f"""
    kernel copying(x: f32[{n},4,{lanes}] input, y: f32[{n},4,{lanes}] output) {{
      for i in 0..{n} {{ unroll a in 0..4 {{ vector l in 0..{lanes} {{
        y[i, a, l] = x[i, a, l]
      }} }} }}
    }}"""
    return Probe(parse_kernel(text), 16.0 * n * lanes)


def nothing() -> Probe:
    """Return a probe that only stores one number."""
    text = "kernel nothing(x: f32[1] input, y: f32[1] output) { y[0] = x[0] }"
    return Probe(parse_kernel(text), 1.0)
