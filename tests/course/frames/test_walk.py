"""Tests of the frames of loops: each element is visited as often as the sizes of the loops say."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest

from compiler.compute.text import parse_computation
from compiler.loops.nodes import Kernel
from course.frames.limits import MOST_BYTES, MOST_FRAMES
from course.frames.walk import Frame, Touched, walk_frames, walk_picture
from course.loop_counts import scheduled
from tests.course.lessons import ran, results

M, N, K = 4, 8, 5
PRODUCT = f"""computation product(A: f32[{M},{K}], B: f32[{K},{N}]) -> Y: f32[{M},{N}] {{
  Y[m, n] = reduce_add([k], mul(A[m, k], B[k, n]))  for m<{M}, n<{N}, k<{K}
}}"""
PLAIN = ""
TILE = """Y: split(n, 4, no, nl)
Y: split(m, 2, mo, mi)
Y: reorder(mo, no, k, mi, nl)
Y: unroll(mi)
Y: vectorize(nl)"""
ROWS = "Y: reorder(m, k, n)\nY: cache_write(k)"
REST = "Y: split(m, 3, mo, mi)"
SCHEDULES = {"plain": PLAIN, "tile": TILE, "rows": ROWS, "rest": REST}


def kernel(schedule: str, computation: str = PRODUCT) -> Kernel:
    return scheduled(schedule, parse_computation(computation), frozenset({"B"})).kernel


def visits(frames: list[Frame], part: str, name: str) -> Counter[tuple[int, ...]]:
    """Count the frames in which each element of a matrix is used."""
    found: Counter[tuple[int, ...]] = Counter()
    for frame in frames:
        touched: Touched = getattr(frame, part)
        found.update([*touched.get(name, {})])
    return found


def every(rows: int, columns: int, times: int) -> dict[tuple[int, ...], int]:
    return dict.fromkeys(product(range(rows), range(columns)), times)


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_each_element_of_the_result_is_written_once(schedule: str) -> None:
    assert visits(walk_frames(kernel(schedule)), "written", "Y") == every(M, N, 1)


@pytest.mark.parametrize(("schedule", "rows", "columns"), [(PLAIN, 1, 1), (TILE, 2, 4)])
def test_operands_are_read_once_for_each_tile_and_sums_take_all_terms(
    schedule: str, rows: int, columns: int
) -> None:
    frames = walk_frames(kernel(schedule))
    assert visits(frames, "read", "A") == every(M, K, N // columns)
    assert visits(frames, "read", "B") == every(K, N, M // rows)
    assert visits(frames, "sums", "Y") == every(M, N, K)
    assert len(frames) == (M // rows) * (N // columns) * (K + 1)


def test_a_frame_adds_to_the_elements_that_its_loops_name() -> None:
    for frame in walk_frames(kernel(PLAIN)):
        m, n = frame.at["m"], frame.at["n"]
        target = frame.written if "k" not in frame.at else frame.sums
        assert [*target["Y"]] == [(m, n)]
        if "k" in frame.at:
            assert [*frame.read["A"], *frame.read["B"]] == [(m, frame.at["k"]), (frame.at["k"], n)]


def elements(picture: dict[str, Any], frame: dict[str, Any], use: str) -> set[tuple[int, int, int]]:
    """The elements of the rectangles of a frame, as they are drawn."""
    return {
        (matrix, r, c)
        for matrix, kind, row, column, rows, columns in frame["cells"]
        if kind == use
        for r in range(row, row + rows)
        for c in range(column, column + columns)
    }


@pytest.mark.parametrize("schedule", [*SCHEDULES.values(), f"{TILE}\nY: pack(B)"])
def test_rectangles_are_the_elements_of_the_frames(schedule: str) -> None:
    made = kernel(schedule)
    picture = walk_picture(made)
    number = {m["name"]: i for i, m in enumerate(picture["matrices"])}
    for shown, frame in zip(picture["frames"], walk_frames(made), strict=True):
        for use, touched in (("read", frame.read), ("write", frame.written), ("sum", frame.sums)):
            wanted: set[tuple[int, int, int]] = set()
            for name, found in touched.items():
                shape = made.buffers[name].shape
                for at in found:
                    row = 0
                    for i, n in zip(at[:-1], shape[:-1], strict=True):
                        assert isinstance(n, int)
                        row = row * n + i
                    wanted.add((number[name], row, at[-1]))
            assert elements(picture, shown, use) == wanted


def test_a_frame_has_a_text() -> None:
    first = walk_picture(kernel(TILE))["frames"][0]
    assert (first["at"], first["writes"]) == ("mo=0, no=0, k=0", "")
    assert first["reads"].split(", B")[0] == "A[0..2, 0]"
    assert "B[0, 0..4]" in first["reads"]
    assert first["sums"] == "Y[0..2, 0..4]"


def test_large_loops_are_left_out_with_the_reason() -> None:
    large = PRODUCT.replace("<8", "<800").replace(",8]", ",800]")
    picture = walk_picture(kernel("", large))
    assert (picture["frames"], "7,220 elements" in picture["omitted"]) == ([], True)
    longer = PRODUCT.replace("<8", "<12").replace(",8]", ",12]")
    assert f"more than {MOST_FRAMES}" in walk_picture(kernel("", longer))["omitted"]


def test_a_block_of_a_lesson_has_a_picture_only_if_its_author_chose_it() -> None:
    graph = "graph g(x: f32[4,5], w: f32[5,8]) {\n  y = matmul(x, w)\n  return y\n}"
    blocks = [
        f"```graph {{name=g}}\n{graph}\n```",
        "```schedule {name=still of=g}\n```",
        "```schedule {name=moves of=g moving=true}\n```",
    ]
    run = ran(*blocks)
    assert "motion" not in results(run, "still").data
    picture = results(run, "moves").data["motion"]
    assert len(picture["frames"]) == M * N * (K + 1)
    assert len(str(picture)) < 2 * MOST_BYTES
