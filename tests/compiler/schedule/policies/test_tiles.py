"""Tests of register tiles: within the registers, hiding latency, aware of the memory layout."""

from __future__ import annotations

import pytest

import compiler
from compiler.codegen.listing import counts
from compiler.schedule.policies.tiles import LATENCY_CYCLES, Tile, choose_tile, tile_cycles
from compiler.targets.target import TARGETS, Target

SHAPES = ((1, 7, 4096), (5, 1, 27), (7, 32, 4608), (49, 64, 512), (196, 16, 1000), (1021, 63, 768))
"""Numbers of rows, vectors, and reduction steps."""


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda t: t.name)
@pytest.mark.parametrize("row_bytes", [0, 64, 3072, 4096])
def test_a_tile_fits_the_registers(target: Target, row_bytes: int) -> None:
    for n_rows, n_vectors, depth in SHAPES:
        tile = choose_tile(n_rows, n_vectors, depth, target, row_bytes)
        assert 1 <= tile.rows <= n_rows
        assert 1 <= tile.vectors <= n_vectors
        needed = tile.rows * tile.vectors + tile.vectors + 1
        assert needed < target.n_vector_registers, f"{tile} for {n_rows}x{n_vectors}x{depth}"


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda t: t.name)
def test_large_products_keep_enough_sums_apart(target: Target) -> None:
    tile = choose_tile(28, 16, 1152, target, 64)
    assert tile.rows * tile.vectors / 2 >= LATENCY_CYCLES, f"{tile} waits for its own sums"


def test_rows_that_share_a_set_are_few() -> None:
    target = TARGETS["x86-64-v4"]
    assert choose_tile(1024, 64, 1024, target, 64).rows * 2 >= 9
    assert choose_tile(1024, 64, 1024, target, 8192).rows <= 8


def test_a_strip_that_leaves_the_cache_costs_more() -> None:
    target = TARGETS["x86-64-v4"]
    wide, narrow = Tile(6, 4), Tile(14, 2)
    fits = [tile_cycles(t, 420, 16, 512, target) / 512 for t in (wide, narrow)]
    streams = [tile_cycles(t, 420, 16, 4608, target) / 4608 for t in (wide, narrow)]
    assert streams[0] > fits[0] * 1.5, "a wide strip of this depth exceeds L2"
    assert streams[1] < fits[1] * 1.1


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("shape", [(128, 96, 64), (52, 208, 33), (5, 24, 40), (13, 8, 21)])
def test_sums_are_never_spilled(target: str, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    graph = compiler.parse(
        f"graph g(x: f32[{m},{k}]) {{\n  const w: f32[{k},{n}] = splat(0.5)\n"
        f"  y: f32[{m},{n}] = matmul(x, w)\n  return y\n}}"
    )
    asm = compiler.compile(graph, target=target, trace=False).emit("asm")
    assert isinstance(asm, str)
    assert counts(asm, TARGETS[target]).n_spills == 0


@pytest.mark.parametrize("sizes", ["2,24,H,W", "2,24,43,47"])
def test_rows_of_a_depthwise_tile_share_the_weights_of_a_channel(sizes: str) -> None:
    graph = compiler.parse(
        f"graph g(x: f32[{sizes}]) {{\n  const w: f32[24,1,3,3] = splat(0.5)\n"
        f"  y: f32[{sizes}] = conv(x, w, strides=[1,1], pads=[1,1,1,1], "
        "dilations=[1,1], groups=24)\n  return y\n}"
    )
    program = compiler.compile(graph, target="x86-64-v3", trace=False)
    (conv,) = (k for k in program.kernels if k.op == "conv")
    assert any(m.startswith("Y: split(y, ") for m in conv.moves), conv.moves
    assert not any(m.startswith("Y: split(o, ") for m in conv.moves), conv.moves
