"""Tests of complete programs whose products run on emulated matrix tiles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import compiler
from compiler.ir.constant import Constant
from compiler.ir.types import DType, TensorType
from compiler.loops.nodes import Loop, walk_statements
from compiler.machine.machine import estimated
from compiler.runtime.predict import predictions
from compiler.runtime.program import Program
from compiler.targets.target import by_name, host

EMULATED = replace(host(), emulates_tiles=True)

MODELS = {
    "perceptron": """
    graph g(x: f32[50,96], r: f32[50,70]) {
      const w: f32[96,70] = splat(0.3)
      const v: f32[70,96] = splat(0.01)
      a: f32[50,70] = matmul(x, w)
      b: f32[50,70] = add(a, r)
      h: f32[50,70] = relu(b)
      y: f32[50,96] = matmul(h, v)
      return y
    }""",
    "convolutions": """
    graph g(x: f32[1,32,14,13]) {
      const w: f32[48,32,3,3] = splat(0.02)
      const v: f32[64,48,1,1] = splat(0.03)
      a: f32[1,48,14,13] = conv(x, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
      b: f32[1,48,14,13] = relu(a)
      y: f32[1,64,14,13] = conv(b, v, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
      return y
    }""",
}

CODES = """
graph g(x: u8[40,64], z: u8[]) {
  const w: i8[64,37] = splat(-3)
  y: i32[40,37] = matmul_integer(x, w, z, "")
  return y
}"""


def tile_loops(program: Program) -> int:
    loops = [k.loops for k in program.kernels if k.loops is not None]
    steps = (s for k in loops for s in walk_statements(k.body))
    return sum(isinstance(s, Loop) and s.kind == "tile" for s in steps)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_products_of_bf16(name: str, threads: int) -> None:
    graph = compiler.parse(MODELS[name])
    rng = np.random.default_rng(0)
    types = {i.name: i.type for i in graph.inputs if isinstance(i.type, TensorType)}
    inputs = {n: rng.standard_normal(t.static_shape).astype(np.float32) for n, t in types.items()}
    program = compiler.compile(graph, target=EMULATED, precision="bf16", threads=threads)
    assert tile_loops(program)
    found, wanted = program.run(inputs)["y"], compiler.reference(graph, inputs)["y"]
    assert np.abs(found - wanted).max() <= 1e-2 * np.abs(wanted).max()
    # Compared with vectors: the same rounded operands, other orders of sums.
    other = compiler.compile(graph, precision="bf16").run(inputs)["y"]
    np.testing.assert_allclose(found, other, atol=1e-5 * float(np.abs(wanted).max()))


def test_products_of_codes_are_exact() -> None:
    graph = compiler.parse(CODES)
    codes = np.random.default_rng(0).integers(0, 256, (40, 64)).astype(np.uint8)
    inputs = {"x": codes, "z": np.uint8(5)}
    program = compiler.compile(graph, target=EMULATED)
    assert tile_loops(program)
    np.testing.assert_array_equal(program.run(inputs)["y"], compiler.reference(graph, inputs)["y"])


def test_fast_takes_three_products_of_parts() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 96)).astype(np.float32)
    w = rng.standard_normal((96, 70)).astype(np.float32)
    graph = compiler.parse(
        "graph g(x: f32[40,96]) {\n  const w: f32[96,70] = splat(0.3)\n"
        "  y: f32[40,70] = matmul(x, w)\n  return y\n}"
    )
    graph = replace(graph, constants={"w": Constant.of(w, DType.f32)})
    fast = compiler.compile(graph, target=EMULATED, precision="fast")
    assert tile_loops(fast)
    wanted = x.astype(np.float64) @ w
    error = np.abs(fast.run({"x": x})["y"] - wanted).max() / np.abs(wanted).max()
    assert error <= 1e-5
    assert not tile_loops(compiler.compile(graph, target=EMULATED))


def test_predictions_know_what_multiplies() -> None:
    """The peak is that of the unit in the loops: tiles or vectors."""
    graph = compiler.parse(CODES)
    machine = estimated(by_name("x86-64-amx"))
    seconds: list[float] = []
    for target in (EMULATED, replace(host(), emulates_tiles=False)):
        program = compiler.compile(graph, target=target)
        (k,) = (k for k in program.kernels if "matmul" in k.name)
        found = predictions([replace(k, flops=10**9)], program.graph, 0, machine, 0.0)
        seconds.append(found[k.name].seconds)
    assert seconds[1] == pytest.approx(6 * seconds[0], rel=0.1)
