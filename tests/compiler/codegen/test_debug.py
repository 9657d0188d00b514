"""Tests of debug lines from Loop IR through LLVM IR to assembly, which leave the code unchanged."""

from __future__ import annotations

import re

import pytest

import compiler
from app.samples import sample_graph
from compiler.codegen import jit
from compiler.codegen.debug import listings, with_locations, without_locations
from compiler.codegen.llvm import function_lines, function_text
from compiler.codegen.module import module_of
from compiler.loops.text import parse_kernel
from compiler.targets.target import by_name, host, names

_SCALED = """kernel scaled(x: f32[3,700] input, y: f32[3,700] output) {
  register total: f32[1]
  for i in 0..3 {
    total[0] = f32(0)
    for k in 0..5 {
      total[0] = add(total[0], x[i, k])
    }
    vector j in 0..700 {
      y[i, j] = mul(x[i, j], total[0])
    }
  }
}"""
_OPEN = """kernel open[N](x: f32[N] input, y: f32[N] output) {
  vector j in 0..N {
    y[j] = neg(x[j])
  }
}"""


@pytest.mark.parametrize("text", [_SCALED, _OPEN], ids=["scaled", "open"])
def test_lines_of_a_function_know_the_loops_they_are_for(text):
    kernel = parse_kernel(text)
    written, of = function_lines(kernel, "f", host())
    assert written == function_text(kernel, "f", host())
    loops = str(kernel).split("\n")
    found = {
        loops[at].strip()
        for at, line in zip(of, written.text.split("\n"), strict=True)
        if re.search(r" (fmul|fadd|fneg|xor) ", line) and at >= 0
    }
    wanted = {line.strip() for line in loops if re.search(r"= (add|mul|neg)\(", line)}
    assert found == wanted


def test_a_statement_that_stands_twice_is_told_apart_by_its_place():
    inner = "vector j in 0..16 { y[j] = neg(x[j]) }"
    text = f"""kernel twice(x: f32[16] input, y: f32[16] output) {{
      for a in 0..3 {{ {inner} }} for b in 0..5 {{ {inner} }} }}"""
    kernel = parse_kernel(text)
    first, second = kernel.body
    shared = kernel.__class__(
        kernel.name, kernel.params, (first, second.__class__("b", 0, 5, first.body, "for"))
    )
    written, of = function_lines(shared, "f", host())
    stores = [at for at, x in zip(of, written.text.split("\n"), strict=True) if " store " in x]
    assert list(dict.fromkeys(stores)) == [3, 8], (
        "on targets with narrow registers, of several vectors"
    )


def test_locations_lead_from_the_assembly_to_the_text_and_change_nothing():
    written = function_text(parse_kernel(_SCALED), "scaled", host())
    module = module_of([written], "", host())
    plain = jit.assembly(module, host()).split("\n")
    located = with_locations(module, {"scaled"})
    kept, of = without_locations(jit.assembly(located, host()).split("\n"))
    end = next(i for i, line in enumerate(kept) if line.startswith(".Lfunc_end"))
    start = kept.index("scaled:")
    assert kept[start:end] == plain[plain.index("scaled:") :][: end - start]
    lines = written.text.split("\n")
    assert any(" fmul " in lines[at] for at in of[start:end] if at >= 0)
    for line, at in zip(kept[start:end], of[start:end], strict=True):
        if re.match(r"\tv?(mul|add)[sp]s", line):
            assert re.search(r" (fmul|fadd) ", lines[at])


def test_functions_that_were_not_asked_for_keep_their_text():
    written = function_text(parse_kernel(_SCALED), "scaled", host())
    module = module_of([written], "define void @run() {\n  ret void\n}", host())
    located = with_locations(module, {"scaled"})
    assert "define void @run() {\n  ret void\n}" in located
    assert located.count("!dbg") > 10


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("sample", ["digits_cnn", "digits_lstm", "digits_transformer"])
def test_the_plain_listing_of_a_module_is_its_assembly(sample: str, name: str) -> None:
    """LLVM generates the code only once, with debug locations, so these must change nothing."""
    program = compiler.compile(sample_graph(sample), target=name, threads=2, trace=False)
    symbols = {k.symbol for k in program.kernels if k.symbol}
    made = listings(str(program.emit("llvm")), symbols, program.target)
    assert made.plain == program.emit("asm")
    assert made.located != made.plain


def test_code_is_generated_once_where_locations_leave_it_unchanged(monkeypatch) -> None:
    written = function_text(parse_kernel(_SCALED), "scaled", host())
    n_calls = {}
    for name in ("x86-64-v3", "riscv64-v256", "aarch64", "apple-m1"):
        target, seen = by_name(name), []
        ir = module_of([written], "", target)

        def counted(ir, target, seen=seen):
            seen.append(target)
            return jit.assembly(ir, target)

        monkeypatch.setattr("compiler.codegen.debug.assembly", counted)
        listings(ir, {"scaled"}, target)
        n_calls[name] = len(seen)
    assert n_calls == {"x86-64-v3": 1, "riscv64-v256": 1, "aarch64": 2, "apple-m1": 2}
