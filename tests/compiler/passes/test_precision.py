from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.errors import CompileError
from compiler.ir.graph import all_nodes
from compiler.passes.pipeline.precision import PRECISIONS, check_suits, suiting, with_precision
from compiler.passes.pipeline.text import parse_pipeline

DENSE = compiler.parse("""
graph dense(x: f32[3,5], w: f32[5,4]) {
  y: f32[3,4] = matmul(x, w)
  return y
}
""")

QUANTIZED = compiler.parse("""
graph quantized(x: f32[3,5]) {
  const s: f32[] = literal(0.5)
  q: i8[3,5] = quantize(x, s, to=i8, precision=f32)
  y: f32[3,5] = dequantize(q, s, to=f32)
  return y
}
""")


@pytest.mark.parametrize("name", PRECISIONS)
def test_every_mode_has_words_and_a_tolerance(name: str) -> None:
    mode = PRECISIONS[name]
    assert mode.name == name
    assert mode.words.endswith(".")
    assert 0 < mode.tolerance < 1


@pytest.mark.parametrize("name", ["f17", "", *(n for n, p in PRECISIONS.items() if p.refused)])
def test_modes_that_are_not_there_are_refused_with_a_hint(name: str) -> None:
    with pytest.raises(CompileError) as caught:
        with_precision(parse_pipeline("default"), name)
    assert caught.value.code == "E-OPTION-VALUE"
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "direct"), [("f32", None), ("fast", "parts"), ("bf16", "bf16_tiles"), ("int8", None)]
)
def test_matrix_tiles_change_what_direct_sums_cost(name: str, direct: str | None) -> None:
    given = parse_pipeline("choose_algorithms")
    (line, *_) = with_precision(given, name, has_tiles=True).passes
    assert line.options.get("direct") == direct
    (plain, *_) = with_precision(given, name).passes
    assert plain.options.get("direct") in (None, "bf16")


def test_whole_numbers_are_for_models_that_have_them() -> None:
    check_suits(QUANTIZED, "int8")
    check_suits(DENSE, "f32")
    with pytest.raises(CompileError) as caught:
        compiler.compile(DENSE, precision="int8")
    assert caught.value.code == "E-OPTION-VALUE"
    assert "quantiz" in caught.value.hint
    x = np.linspace(-2, 3, 15, dtype=np.float32).reshape(3, 5)
    made = [compiler.compile(QUANTIZED, precision=p).run({"x": x})["y"] for p in ("int8", "f32")]
    assert np.array_equal(*made)


def test_modes_suit_models_by_their_operators() -> None:
    every = list(PRECISIONS)
    assert suiting(n.op for n in all_nodes(QUANTIZED)) == suiting(["Relu", "QLinearConv"]) == every
    others = [name for name in every if name != "int8"]
    assert suiting(n.op for n in all_nodes(DENSE)) == suiting(["Relu", "Conv"]) == others
