"""Tests that constants with equal bits are merged, in any storage form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from compiler.ir.constant import Bytes, Constant, FileRange, Literal, Splat
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Result, Value
from compiler.ir.operator import OPERATORS
from compiler.ir.types import TensorType, tensor
from compiler.passes import PASSES

F = np.float32


def merged(*constants: Constant) -> list[Constant]:
    """Return the remaining constants of a graph that adds all constants to one input."""
    t = constants[0].type
    ed = Editor(Graph("g", (Value("x", t),), (), ()))
    total = "x"
    for i, c in enumerate(constants):
        name = ed.add_constant(c, hint=f"c{i}")
        total = ed.build(OPERATORS["add"](ed.tensor(total), ed.tensor(name)), hint="y")
    ed.results = [Result("y", total)]
    return list(PASSES["common_subexpression_elimination"].run(ed.graph()).constants.values())


def held(values: object, kind: type = Bytes) -> Constant:
    array = np.asarray(values, F)
    return Constant(TensorType(tensor("f32[1]").dtype, array.shape), kind(array))


def in_file(folder: Path, values: object, before: int) -> Constant:
    """Return constants stored one after another in an external file."""
    array = np.asarray(values, F)
    path = folder / f"{before}.bin"
    path.write_bytes(b"\0" * before + array.tobytes())
    t = TensorType(tensor("f32[1]").dtype, array.shape)
    return Constant(t, FileRange(str(path), before, array.nbytes))


NUMBERS = np.arange(1000, dtype=F) / 7


def test_bytes_in_a_file_and_in_memory_are_the_same(tmp_path: Path) -> None:
    left = merged(held(NUMBERS), in_file(tmp_path, NUMBERS, 64), in_file(tmp_path, NUMBERS, 128))
    assert len(left) == 1
    np.testing.assert_array_equal(left[0].array(), NUMBERS)


def test_a_splat_stands_for_all_its_elements_written_out(tmp_path: Path) -> None:
    ones = np.full(1000, 1.5, F)
    splat = Constant.splat(1.5, tensor("f32[1000]"))
    left = merged(held(ones), splat, in_file(tmp_path, ones, 64))
    assert [type(c.storage) for c in left] == [Splat]


@pytest.mark.parametrize("place", [0, 1, 500, 999])
def test_one_other_element_is_another_constant(place: int) -> None:
    other = NUMBERS.copy()
    other[place] = -1
    assert len(merged(held(NUMBERS), held(other))) == 2


def test_zeros_of_both_signs_differ_and_equal_nans_do_not() -> None:
    assert len(merged(held([0.0, 1.0], Literal), held([-0.0, 1.0], Literal))) == 2
    assert len(merged(held([np.nan, 1.0], Literal), held([np.nan, 1.0], Bytes))) == 1
    assert len(merged(Constant.splat(0.0, tensor("f32[9]")), held([-0.0] * 9))) == 2


def test_equal_elements_in_other_shapes_stay_apart() -> None:
    left = merged(held(np.ones((3, 1))), held(np.ones((3, 1))), held(np.ones((1, 3))))
    assert len(left) == 2
