"""Tests of tiled convolutions, against direct sums in f64, by interpreter and machine code."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from compiler.compute.computation import Computation
from compiler.compute.lower import lower_node
from compiler.compute.numbers import Array
from compiler.ir.graph import Graph
from compiler.loops.interpret import interpret
from compiler.loops.text import parse_kernel
from compiler.loops.verify import verify_kernel
from compiler.ops.convolution.conv import convolved
from compiler.ops.convolution.winograd import ALGORITHMS
from compiler.schedule.assemble import Scheduled
from compiler.schedule.language.replay import replay
from compiler.schedule.policy import schedule
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name, host
from tests.compiler.passes.numbers import graph
from tests.kernel_runs import run_native
from tests.physical_arrays import memory_for, picked_up
from tests.selection import few_of_all

NATIVE = [host(), by_name("x86-64-v3")] if host().vector_bytes >= 32 else [host()]
TILED = [a for a, tiling in ALGORITHMS.items() if tiling is not None]
PADDING = 77.0
"""The contents of padding in blocks, which must not affect results."""


@dataclass(frozen=True)
class Case:
    """A convolution: image (n, channels, height, width), output channels, pads, layouts."""

    image: tuple[int, int, int, int]
    outputs: int
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    block: int = 16
    halo: int = 1

    @property
    def result(self) -> tuple[int, int, int, int]:
        n, _, h, w = self.image
        top, left, bottom, right = self.pads
        return n, self.outputs, h + top + bottom - 2, w + left + right - 2

    def graph(self, algorithm: str) -> Graph:
        """Return the graph with a bias, a residual and relu in the same kernel."""
        x, y = (f"f32[{','.join(map(str, s))}]" for s in (self.image, self.result))
        halo = f",halo={self.halo}x{self.halo}" if self.halo else ""
        x, y = f"{x}{{c{self.block}{halo}}}", f"{y}{{c{self.block}}}"
        z = f"{y[:-1]},halo=1x2}}"
        w = f"f32[{self.outputs},{self.image[1]},3,3]"
        pads = ",".join(map(str, self.pads))
        return graph(f"""
        graph g(x: {x}, w: {w}, b: f32[{self.outputs}], r: {y}) {{
          z: {z} = fusion(x, w, b, r, kind="contraction") {{
            body: graph contraction(x: {x}, w: {w}, b: f32[{self.outputs}], r: {y}) {{
              c: {y} = conv(x, w, b, strides=[1,1], pads=[{pads}], dilations=[1,1],
                            algorithm="{algorithm}")
              s: {y} = add(c, r)
              z: {z} = relu(s)
              return z
            }}
          }}
          return z
        }}
        """)


CASES = {
    "even": Case((1, 16, 8, 8), 16),
    "ragged": Case((1, 16, 5, 7), 32),
    "images": Case((2, 16, 6, 3), 16),
    "odd_channels": Case((1, 19, 5, 6), 35),
    "no_border": Case((1, 16, 7, 6), 16, (0, 0, 0, 0), halo=0),
    "uneven_border": Case((1, 16, 4, 5), 16, (0, 2, 1, 1), halo=2),
    "tests_at_the_border": Case((1, 16, 4, 6), 16, halo=0),
    "one_pixel": Case((3, 16, 1, 1), 16),
    "all_channels": Case((1, 32, 3, 5), 32, block=32),
    "blocks_of_24": Case((1, 40, 3, 6), 30, block=24),
    "blocks_of_eight": Case((1, 24, 5, 4), 8, block=8),
}


INTERPRETED = ("one_pixel",)
"""Limit on the size for the interpreter, which takes seconds for more."""


def computation_of(g: Graph) -> tuple[Computation, dict[str, str]]:
    lowered = lower_node(g.nodes[0], g)
    assert lowered is not None
    return lowered.computation, dict(lowered.operands)


def arrays_of(case: Case) -> dict[str, Array]:
    chance = np.random.default_rng(5)
    shapes = {
        "x": case.image,
        "w": (case.outputs, case.image[1], 3, 3),
        "b": (case.outputs,),
        "r": case.result,
    }
    return {k: chance.standard_normal(s).astype(np.float32) for k, s in shapes.items()}


def by_tensor(operands: dict[str, str], arrays: dict[str, Array]) -> dict[str, Array]:
    """Return arrays by the names of a computation's tensors."""
    return {tensor: arrays[value] for tensor, value in operands.items()}


def wanted(case: Case, arrays: dict[str, Array]) -> Array:
    x, w, b, r = (arrays[k].astype(np.float64) for k in "xwbr")
    made = convolved(x, w, (1, 1), case.pads, (1, 1), 1, "notset")
    return np.maximum(made + b[:, None, None] + r, 0)


def scheduled(c: Computation, operands: dict[str, str], options: CodeOptions) -> Scheduled:
    constants = frozenset(t for t, value in operands.items() if value in "wb")
    return schedule(c, constants, options)


@pytest.mark.parametrize(("name", "algorithm"), few_of_all(12, tuple(CASES), tuple(TILED)))
def test_tiles_compute_the_convolution(name: str, algorithm: str) -> None:
    case = CASES[name]
    c, operands = computation_of(case.graph(algorithm))
    arrays = arrays_of(case)
    exact = wanted(case, arrays)
    (out,) = c.outputs
    for target in NATIVE:
        made = scheduled(c, operands, CodeOptions(target))
        verify_kernel(made.kernel)
        assert parse_kernel(str(made.kernel)) == made.kernel
        assert "U" not in made.kernel.buffers
        runs = [lambda k, m, t=target: run_native(k, m, t)]
        for run in [*runs, interpret] if name in INTERPRETED else runs:
            memory = memory_for(made, c.tensors, by_tensor(operands, arrays), PADDING)
            run(made.kernel, memory)
            t = c.tensors[out]
            error = np.abs(picked_up(memory[out], t) - exact).max() / np.abs(exact).max()
            assert error < (2e-6 if algorithm == "winograd2" else 2e-5)
            inside = np.zeros_like(memory[out], bool)
            inside[:, :, 1:-1, 2:-2] = True
            assert not memory[out][~inside].any(), "the image has a halo of zeros"


def test_small_tiles_are_as_exact_as_the_direct_sum() -> None:
    chance = np.random.default_rng(9)
    case = Case((1, 64, 12, 10), 32)
    arrays = {k: chance.standard_normal(a.shape).astype("f") for k, a in arrays_of(case).items()}
    exact, errors = wanted(case, arrays), {}
    for algorithm in ALGORITHMS:
        c, operands = computation_of(case.graph(algorithm))
        made = scheduled(c, operands, CodeOptions(host()))
        memory = memory_for(made, c.tensors, by_tensor(operands, arrays), PADDING)
        run_native(made.kernel, memory, host())
        y = picked_up(memory[c.outputs[0]], c.tensors[c.outputs[0]])
        errors[algorithm] = np.abs(y - exact).max() / np.abs(exact).max()
    assert errors["winograd2"] < 1.5 * errors["direct"]
    assert errors["direct"] < errors["winograd4"] < 1e-5


@pytest.mark.parametrize("name", ["x86-64", "x86-64-v3", "x86-64-v4", "aarch64"])
def test_the_schedule_is_replayed_from_its_text(name: str) -> None:
    options = CodeOptions(by_name(name))
    c, operands = computation_of(CASES["odd_channels"].graph("winograd2"))
    made = scheduled(c, operands, options)
    constants = frozenset(t for t, value in operands.items() if value in "wb")
    assert replay(made.text, c, constants, options) == made


def test_weights_that_a_run_brings_are_transformed_by_it() -> None:
    case = CASES["ragged"]
    c, operands = computation_of(case.graph("winograd2"))
    made = schedule(c, frozenset(), CodeOptions(NATIVE[-1]))
    assert "U" in made.kernel.buffers
    arrays = arrays_of(case)
    memory = memory_for(made, c.tensors, by_tensor(operands, arrays), PADDING)
    run_native(made.kernel, memory, NATIVE[-1])
    (out,) = c.outputs
    np.testing.assert_allclose(
        picked_up(memory[out], c.tensors[out]), wanted(case, arrays), rtol=1e-4, atol=1e-4
    )
