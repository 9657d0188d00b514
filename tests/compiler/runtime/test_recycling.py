"""Tests of reusing the memory of large results, never while the caller holds them."""

from __future__ import annotations

import numpy as np

import compiler
from compiler.runtime.recycling import Recycled
from compiler.runtime.storage import PAGE_BYTES, aligned_bytes


def fresh(n: int) -> np.ndarray:
    return np.empty(n, np.uint8)


def test_memory_comes_back_when_the_last_view_of_it_goes() -> None:
    pool = Recycled()
    first = pool.bytes(3000, fresh)
    address = first.ctypes.data
    view = first[10:500].reshape(7, 70)
    del first
    other = pool.bytes(3000, fresh)
    assert other.ctypes.data != address
    view[:] = 5
    del view
    assert pool.bytes(3000, fresh).ctypes.data == address


def test_other_sizes_get_other_memory_and_little_is_kept() -> None:
    pool = Recycled(most_bytes=5000)
    first, second = pool.bytes(3000, fresh), pool.bytes(2500, fresh)
    place = second.ctypes.data
    del first
    del second
    assert pool.bytes(2500, fresh).ctypes.data == place
    assert [raw.nbytes for raw in pool.kept] == [2500]


def test_large_memory_begins_at_a_page() -> None:
    for _ in range(2):
        assert aligned_bytes(PAGE_BYTES + 12345).ctypes.data % PAGE_BYTES == 0


def test_results_that_are_kept_are_not_written_over() -> None:
    g = compiler.parse("graph g(x: f32[700,600]) { y: f32[700,600] = neg(x) return y }")
    program = compiler.compile(g, trace=False)
    kept = [program.run({"x": np.full((700, 600), i, np.float32)})["y"] for i in range(3)]
    assert [float(y.min()) for y in kept] == [0.0, -1.0, -2.0]
    assert [float(y.max()) for y in kept] == [0.0, -1.0, -2.0]
