"""Tests of the quantities of nodes of one kind."""

from __future__ import annotations

import pytest

from course.graphs import read_graph
from course.quantities.quantity import counted
from course.quantities.subject import Subject

TURNED = """
graph turned(x: f32[6,40], w: f32[6,30]) {
  t = transpose(x, perm=[1,0])
  y = matmul(t, w)
  z = unsqueeze(y, axes=[0])
  return z
}
"""


def test_only_copies_to_other_positions_are_movements() -> None:
    found = counted(Subject(read_graph(TURNED, "test")))
    moved, product = 2 * 6 * 40 * 4, (6 * 40 + 6 * 30 + 40 * 30) * 4
    assert found["movements"].value == 1
    assert found["movement_bytes"].value == pytest.approx(moved / (moved + product))
