"""Tests of products in matrix tiles: oracle, interpreter and emulated tiles agree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compiler.codegen.jit import assembly
from compiler.codegen.module import module_ir
from compiler.compute.computation import Computation
from compiler.compute.evaluate import evaluate
from compiler.compute.text import parse_computation
from compiler.loops.interpret import interpret
from compiler.loops.nodes import Loop, walk_statements
from compiler.loops.text import parse_kernel
from compiler.loops.verify import verify_kernel
from compiler.schedule.policy import Scheduled, schedule
from compiler.targets.options import CodeOptions
from compiler.targets.target import Target, by_name, host
from tests.kernel_runs import Array, run_native
from tests.physical_arrays import memory_for, picked_up

AMX = by_name("x86-64-amx")
EMULATED = replace(host(), name="emulated", emulates_tiles=True)


def operands(c: Computation) -> dict[str, Array]:
    rng = np.random.default_rng(3)
    made: dict[str, Array] = {}
    for n in c.inputs:
        t = c.tensors[n]
        if t.dtype.is_integer:
            low, high = (0, 256) if t.dtype.label == "u8" else (-128, 128)
            made[n] = rng.integers(low, high, t.static_shape).astype(t.dtype.numpy)
        else:
            made[n] = rng.standard_normal(t.static_shape).astype(t.dtype.numpy)
    return made


def in_tiles(made: Scheduled) -> bool:
    return any(isinstance(s, Loop) and s.kind == "tile" for s in walk_statements(made.kernel.body))


def check(text: str, *, tiles: bool = True, threads: int = 1, interpreted: bool = True) -> None:
    c = parse_computation(text)
    arrays = operands(c)
    wanted = evaluate(c, arrays)
    made = schedule(c, frozenset("W"), CodeOptions(EMULATED, threads))
    assert in_tiles(made) is tiles
    verify_kernel(made.kernel)
    assert parse_kernel(str(made.kernel)) == made.kernel
    runs = [lambda k, m: run_native(k, m, EMULATED, threads=threads)]
    for run in (interpret, *runs) if interpreted else runs:
        memory = memory_for(made, c.tensors, arrays)
        run(made.kernel, memory)
        for n in c.outputs:
            a, b = picked_up(memory[n], c.tensors[n]), wanted[n]
            step = 0.0 if c.tensors[n].dtype.is_integer else 1e-5 if a.dtype == np.float32 else 1e-2
            a, b = a.astype(np.float64), b.astype(np.float64)
            np.testing.assert_allclose(a, b, rtol=step, atol=step * float(np.abs(b).max()))


def product(m: int, n: int, k: int, left: str = "bf16", right: str = "bf16") -> str:
    total = "f32" if left == "bf16" else "i32"
    return f"""
    computation mm(A: {left}[{m},{k}], W: {right}[{k},{n}]) -> Y: {total}[{m},{n}] {{
      Y[m, n] = max(reduce_add([k], mul(to_{total}(A[m, k]), to_{total}(W[k, n]))), {total}(-3))
        for m<{m}, n<{n}, k<{k}
    }}"""


def convolution(channels: int, filters: int, size: int, stride: int = 1, kind: str = "bf16") -> str:
    """Return a 3x3 convolution over blocked channels, with a halo of zeros."""
    out = (size - 1) // stride + 1
    left, right, total = ("bf16", "bf16", "f32") if kind == "bf16" else ("u8", "i8", "i32")
    y, x = f"{stride}*y+ky-1", f"{stride}*x+kx-1"
    image = f"inside([({y}, {size}), ({x}, {size})], to_{total}(X[n, i, {y}, {x}]), {total}(0))"
    return f"""
    computation cv(X: {left}[1,{channels},{size},{size}]{{c16,halo=1x1}},
      W: {right}[{filters},{channels},3,3])
    -> Y: {total}[1,{filters},{out},{out}]{{c16}} {{
      Y[n, o, y, x] = reduce_add([i, ky, kx], mul({image}, to_{total}(W[o, i, ky, kx])))
        for n<1, o<{filters}, y<{out}, x<{out}, i<{channels}, ky<3, kx<3
    }}"""


@pytest.mark.parametrize(
    "sizes",
    [(32, 32, 64), (33, 17, 22), (4, 70, 40), (50, 16, 98), (20, 5, 11), (70, 40, 12)],
)
def test_products_of_matrices(sizes: tuple[int, int, int]) -> None:
    check(product(*sizes))


@pytest.mark.parametrize("kinds", [("u8", "i8"), ("i8", "i8"), ("u8", "u8"), ("i8", "u8")])
def test_products_of_bytes_are_exact(kinds: tuple[str, str]) -> None:
    check(product(19, 21, 43, *kinds))


@pytest.mark.parametrize("kind", ["bf16", "bytes"])
@pytest.mark.parametrize("shape", [(32, 40, 6, 1), (24, 16, 9, 2), (20, 18, 4, 1)])
def test_convolutions_over_blocks_of_channels(shape: tuple[int, int, int, int], kind: str) -> None:
    check(convolution(*shape, kind), interpreted=shape[0] == 20)


@pytest.mark.parametrize(
    ("channels", "kind", "steps"),
    [(32, "bf16", {12}), (16, "bf16", {12}), (32, "bytes", {12}), (24, "bf16", {8, 4})],
)
def test_neighbours_of_a_window_share_a_row(channels: int, kind: str, steps: set[int]) -> None:
    """48 elements, as 24s or entire; not if the last block has fewer channels."""
    text = convolution(channels, 20, 5, 1, kind)
    made = schedule(parse_computation(text), frozenset("W"), CodeOptions(EMULATED))
    loops = [s for s in walk_statements(made.kernel.body) if isinstance(s, Loop)]
    inside = [t for s in loops if s.kind == "tile" for t in s.body if isinstance(t, Loop)]
    assert {s.extent for s in inside if s.kind == "for"} == steps
    check(text, interpreted=False)


def test_threads_share_products() -> None:
    check(product(200, 130, 128), threads=2, interpreted=False)


@pytest.mark.parametrize("sizes", [(3, 32, 64), (32, 32, 6)])
def test_few_rows_or_short_sums_are_left_to_vectors(sizes: tuple[int, int, int]) -> None:
    check(product(*sizes), tiles=False)


def test_machines_without_tiles_take_vectors() -> None:
    c = parse_computation(product(32, 32, 64))
    for target in (host(), by_name("x86-64-v4"), by_name("aarch64")):
        assert not in_tiles(schedule(c, frozenset("W"), CodeOptions(target)))


def test_a_computed_operand_is_left_to_vectors() -> None:
    c = parse_computation(product(32, 32, 64))
    assert not in_tiles(schedule(c, frozenset(), CodeOptions(AMX)))


def inner_loops(text: str, target: Target = AMX) -> list[list[str]]:
    """Return the instructions between each label with a backward jump and the jump."""
    made = schedule(parse_computation(text), frozenset("W"), CodeOptions(target))
    lines = assembly(module_ir({"k": made.kernel}, [], target), target).splitlines()
    words = [line.split() for line in lines if line.strip()]
    found: list[list[str]] = []
    for end, w in enumerate(words):
        if w[0].startswith("j") and len(w) > 1 and [f"{w[1]}:"] in words[:end]:
            start = words.index([f"{w[1]}:"])
            inner = [v[0] for v in words[start + 1 : end]]
            if not any(v.endswith(":") for v in inner):
                found.append(inner)
    return found


@pytest.mark.parametrize(
    ("text", "name"),
    [(product(64, 64, 256), "tdpbf16ps"), (product(64, 64, 256, "u8", "i8"), "tdpbusd"),
     (convolution(64, 64, 32), "tdpbf16ps")],
)  # fmt: skip
def test_the_innermost_loop_is_loads_and_products(text: str, name: str) -> None:
    (loop,) = [i for i in inner_loops(text) if name in i]
    assert loop.count(name) == 4
    assert loop.count("tileloadd") == 4
    assert not [w for w in loop if w.startswith(("call", "ldtile", "tilez", "tiles", "v"))]
