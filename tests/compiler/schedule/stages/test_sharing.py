"""Tests of stages in shared loops: computed positions, temporaries, and separate stages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import compiler
from compiler.compute.lower import lower_node
from compiler.ir.graph import Graph
from compiler.loops.interpret import interpret
from compiler.loops.nodes import Kernel, Loop, walk_statements
from compiler.loops.text import parse_kernel
from compiler.loops.verify import verify_kernel
from compiler.schedule.policy import Scheduled, schedule
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name

TARGETS = ["x86-64-v4", "x86-64-v3", "aarch64"]


def graph(text: str) -> Graph:
    return compiler.parse(f"graph g({text}")


SOFTMAX = graph("x: f32[2,3,45]) { y: f32[2,3,45] = softmax(x, axis=2) return y }")
ACROSS = graph("x: f32[2,19,37]) { y: f32[2,19,37] = softmax(x, axis=1) return y }")
LAYER_NORM = graph(
    "x: f32[3,45], s: f32[45], b: f32[45]) { y: f32[3,45] = layer_norm(x, s, b) return y }"
)
RMS_NORM = graph("x: f32[3,45], s: f32[45]) { y: f32[3,45] = rms_norm(x, s) return y }")
ATTENTION = graph(
    "q: f32[1,2,53,4], k: f32[1,2,19,4], v: f32[1,2,19,17], m: f32[53,19]) "
    "{ y: f32[1,2,53,17] = attention(q, k, v, m, scale=0.5) return y }"
)
ONE_HEAD_OF_KEYS = graph(
    "q: f32[2,3,5,4], k: f32[2,1,7,4], v: f32[1,3,7,9]) "
    "{ y: f32[2,3,5,9] = attention(q, k, v, scale=0.5) return y }"
)
ALL = {
    "softmax": SOFTMAX, "across": ACROSS, "layer_norm": LAYER_NORM, "rms_norm": RMS_NORM,
    "attention": ATTENTION, "one_head_of_keys": ONE_HEAD_OF_KEYS,
}  # fmt: skip


def scheduled(g: Graph, target: str = "x86-64-v4") -> Scheduled:
    lowered = lower_node(g.nodes[0], g)
    assert lowered is not None
    made = schedule(lowered.computation, frozenset(), CodeOptions(by_name(target)))
    verify_kernel(made.kernel)
    return made


def shape_of(kernel: Kernel, name: str) -> tuple[object, ...]:
    return kernel.buffers[name].shape


def inputs_of(g: Graph) -> dict[str, np.ndarray]:
    chance = np.random.default_rng(3)
    return {
        v.name: chance.normal(size=v.type.static_shape).astype(v.type.dtype.numpy)  # type: ignore[union-attr]
        for v in g.inputs
    }


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("g", ALL.values(), ids=list(ALL))
def test_shared_loops_compute_what_the_reference_says(g: Graph, target: str) -> None:
    kernel = scheduled(g, target).kernel
    assert parse_kernel(str(kernel)) == kernel
    given = inputs_of(g)
    arrays = iter(given.values())
    memory = {
        b.name: next(arrays) if b.role == "input" else np.full(b.shape, np.nan, b.dtype.numpy)
        for b in kernel.params
    }
    interpret(kernel, memory)
    (made,) = (memory[b.name] for b in kernel.params if b.role == "output")
    (wanted,) = compiler.reference(g, given).values()
    np.testing.assert_allclose(made, wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("g", ALL.values(), ids=list(ALL))
def test_compiled_code_gives_the_same_bits_in_every_run(g: Graph) -> None:
    program, given = compiler.compile(g, trace=False), inputs_of(g)
    (first,), (second,) = program.run(given).values(), program.run(given).values()
    assert first.tobytes() == second.tobytes()
    (wanted,) = compiler.reference(g, given).values()
    np.testing.assert_allclose(first, wanted, rtol=2e-5, atol=2e-6)


def test_what_lies_between_is_kept_for_one_row() -> None:
    kernel = scheduled(SOFTMAX).kernel
    assert [shape_of(kernel, n) for n in ("TOP", "E", "TOTAL")] == [(1, 1), (1, 1, 45), (1, 1)]
    (rows,) = kernel.body
    assert isinstance(rows, Loop)
    assert rows.stop == 2


def test_columns_that_lie_together_are_not_taken_apart() -> None:
    kernel = scheduled(ACROSS).kernel
    assert [shape_of(kernel, n) for n in ("TOP", "E")] == [(1, 37), (1, 19, 37)]


def test_attention_keeps_the_scores_of_a_block_of_queries() -> None:
    made = scheduled(ATTENTION)
    assert shape_of(made.kernel, "SCORE") == (1, 1, 48, 19)
    assert {"SCORE", "SCORE#2"} <= {line.nest for line in made.lines}
    blocks = [s for s in _loops(made.kernel) if s.var == "m4_at"]
    assert [(s.start, s.stop) for s in blocks] == [(0, 1), (1, 2)]  # 53 = 48 + 5


def test_keys_are_turned_once_for_each_head() -> None:
    kernel = scheduled(ATTENTION).kernel
    assert shape_of(kernel, "K_TURNED") == (1, 4, 32)  # 19 keys, padded to entire vectors of 16


LONG = graph(
    "q: f32[1,2,77,4], k: f32[1,2,136,4], v: f32[1,2,136,32]) "
    "{ y: f32[1,2,77,32] = attention(q, k, v, scale=0.5) return y }"
)


def test_copies_of_values_are_made_for_one_head() -> None:
    kernel = scheduled(LONG, "x86-64-v3").kernel
    assert shape_of(kernel, "V_PANELS") == (1, 2, 136, 16)
    (heads,) = kernel.body
    assert isinstance(heads, Loop)


def test_blocks_that_the_cache_bounds_are_whole_register_tiles() -> None:
    target = replace(by_name("x86-64-v3"), l2_bytes=32 << 10)
    lowered = lower_node(LONG.nodes[0], LONG)
    assert lowered is not None
    made = schedule(lowered.computation, frozenset(), CodeOptions(target))
    assert shape_of(made.kernel, "SCORE") == (1, 1, 24, 136)  # four tiles of six rows
    assert "E" not in made.kernel.buffers  # 16 kB have room for 29 rows of scores, once


def test_rows_of_a_turn_are_not_cut_again() -> None:
    heads = graph(
        "q: f32[1,6,1500,64], k: f32[1,6,1500,64], v: f32[1,6,1500,64]) "
        "{ y: f32[1,6,1500,64] = attention(q, k, v) return y }"
    )
    made = scheduled(heads, "x86-64-v3")
    moves = [str(line) for line in made.lines]
    assert any(m.startswith("SCORE: compute_at(Y, m4, ") for m in moves)
    assert not any("block of rows" in m for m in moves)


def _loops(kernel: Kernel) -> list[Loop]:
    return [s for s in walk_statements(kernel.body) if isinstance(s, Loop)]


EXTREME = np.array([[np.inf, 1, 2, 3], [-np.inf, 1, 2, 3], [np.nan, 1, 2, 3], [3e38, -3e38, 0, 1],
                    [-np.inf, -np.inf, -np.inf, -np.inf]], np.float32)  # fmt: skip


def test_infinities_and_nan_stay_in_their_rows() -> None:
    x = np.tile(EXTREME, (1, 20))
    g = graph("x: f32[5,80]) { y: f32[5,80] = softmax(x) return y }")
    made, wanted = (
        compiler.compile(g, trace=False).run({"x": x})["y"],
        compiler.reference(g, {"x": x})["y"],
    )
    np.testing.assert_allclose(made, wanted, rtol=1e-5)


def test_open_lengths_share_loops_too() -> None:
    g = graph(
        "q: f32[B,2,T,8], k: f32[B,2,S,8], v: f32[B,2,S,5]) "
        "{ y: f32[B,2,T,5] = attention(q, k, v, scale=0.5) return y }"
    )
    program = compiler.compile(g, trace=False)
    chance = np.random.default_rng(5)
    for b, t, s in ((1, 3, 4), (2, 50, 33), (1, 97, 130)):
        sizes = {"q": (b, 2, t, 8), "k": (b, 2, s, 8), "v": (b, 2, s, 5)}
        given = {n: chance.normal(size=d).astype(np.float32) for n, d in sizes.items()}
        wanted = compiler.reference(g, given)["y"]
        np.testing.assert_allclose(program.run(given)["y"], wanted, rtol=2e-5, atol=2e-6)
