"""Tests of the simulated cache, against counts by hand and a simulation without shortcuts."""

from __future__ import annotations

from collections import OrderedDict

from compiler.compute.text import parse_computation
from course.cache_lines import LINE_BYTES, Cache, misses
from course.loop_counts import scheduled

PRODUCT = """computation product(A: f32[16,48], B: f32[48,32]) -> Y: f32[16,32] {
  Y[m, n] = reduce_add([k], mul(A[m, k], B[k, n]))  for m<16, n<32, k<48
}"""
SCALED = """computation scaled(A: f32[8,64]) -> Y: f32[8,64] {
  Y[i, j] = mul(A[i, j], A[i, j])  for i<8, j<64
}"""


def missed(computation: str, schedule: str, cache_bytes: int) -> int | None:
    kernel = scheduled(schedule, parse_computation(computation), frozenset()).kernel
    return misses(kernel, cache_bytes)


def test_a_stream_loads_each_line_once() -> None:
    assert missed(SCALED, "", 4096) == 2 * 8 * 64 * 4 // LINE_BYTES


def test_an_order_across_rows_loads_lines_again() -> None:
    across = "Y: reorder(j, i)"
    assert missed(SCALED, across, 65536) == 64
    # A cache of eight lines holds less than the sixteen lines of a column of both matrices.
    assert missed(SCALED, across, 8 * LINE_BYTES) == 2 * 8 * 64


def test_misses_are_those_of_a_plain_simulation() -> None:
    def plain(n_lines: int) -> int:
        held: OrderedDict[int, None] = OrderedDict()
        found = 0

        def touch(address: int) -> None:
            nonlocal found
            line = address // LINE_BYTES
            if line not in held:
                found += 1
            held[line] = None
            held.move_to_end(line)
            if len(held) > n_lines:
                held.popitem(last=False)

        a, b, y = 0, 16 * 48 * 4, (16 * 48 + 48 * 32) * 4
        for m in range(16):
            for n in range(32):
                for k in range(48):
                    touch(a + 4 * (m * 48 + k))
                    touch(b + 4 * (k * 32 + n))
                touch(y + 4 * (m * 32 + n))
        return found

    for n_lines in (2, 20, 80):
        assert missed(PRODUCT, "", n_lines * LINE_BYTES) == plain(n_lines)


def test_lanes_and_tiles_change_only_the_order() -> None:
    compulsory = (16 * 48 + 48 * 32 + 16 * 32) * 4 // LINE_BYTES
    tiled = "Y: split(n, 8, no, nl)\nY: reorder(m, no, k, nl)\nY: vectorize(nl)"
    assert missed(PRODUCT, tiled, 1 << 20) == compulsory
    assert missed(PRODUCT, "Y: split(m, 5, mo, mi)", 1 << 20) == compulsory


def test_the_least_recently_used_line_leaves() -> None:
    cache = Cache(2 * LINE_BYTES)
    for line in (1, 2, 1, 3, 1, 2):
        cache.touch(line)
    assert cache.misses == 4


def test_too_many_accesses_are_not_simulated() -> None:
    assert missed(PRODUCT.replace("48", "4800"), "", 4096) is None
