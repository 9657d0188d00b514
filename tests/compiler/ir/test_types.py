"""Tests of types: text that parses back, and layouts that lose no elements."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import pytest

from compiler.errors import CompileError
from compiler.ir.types import DType, Layout, TensorType, parse_type, split_top, tensor


@pytest.mark.parametrize(
    "text",
    [
        "f32[]",
        "i64[2,3]",
        "f16[N,2*N+1]",
        "bf16[...]",
        "f32[N,floor]",
        "f32[1,20,7,9]{c16}",
        "f32[1,3,7,9]{c8,halo=1x2}",
        "seq(f32[2])",
        "optional(seq(string[]))",
        "map(i64,f32[])",
        "opaque",
    ],
)
def test_the_text_of_a_type_reads_back(text: str) -> None:
    t = parse_type(text)
    assert str(t) == text
    assert parse_type(str(t)) == t


@pytest.mark.parametrize(
    "text", ["", "f32", "f33[2]", "f32[2", "f32[2]{d4}", "f32[2]]", "seq()", "map(f32[])"]
)
def test_what_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(CompileError) as e:
        parse_type(text)
    assert e.value.code == "E-TEXT-SYNTAX"


def test_every_element_type_of_onnx_has_a_place() -> None:
    named = {k: v for k, v in onnx.TensorProto.DataType.items() if k != "UNDEFINED"}
    ours = {d.onnx for d in DType}
    unknown = {k for k, v in named.items() if v not in ours}
    assert not unknown
    for number in named.values():
        assert DType.from_onnx(number).onnx == number


def test_a_number_that_is_no_element_type_is_refused() -> None:
    with pytest.raises(CompileError) as e:
        DType.from_onnx(999)
    assert e.value.code == "E-MODEL-TYPE"
    with pytest.raises(CompileError) as e:
        DType.from_numpy(np.dtype("M8[s]"))
    assert e.value.code == "E-MODEL-TYPE"


@pytest.mark.parametrize("layout", [Layout(), Layout(4), Layout(1, (1, 2)), Layout(4, (2, 1), 130)])
def test_a_layout_gives_every_element_a_place_of_its_own(layout: Layout) -> None:
    shape = (2, 5, 3, 4)
    physical = layout.physical_shape(shape)
    places = set()
    for index in itertools.product(*map(range, shape)):
        place = tuple(int(i) for i in layout.physical_index(index))
        assert all(0 <= p < n for p, n in zip(place, physical, strict=True))
        places.add(place)
    assert len(places) == np.prod(shape)
    assert TensorType(DType.f32, shape, layout).nbytes == 4 * np.prod(physical)


def test_a_halo_of_zeros_is_no_halo() -> None:
    assert Layout(1, (0, 0)) == Layout()


def test_open_sizes_are_asked_for_by_name() -> None:
    t = tensor("f32[N,3]")
    assert not t.is_static
    with pytest.raises(CompileError) as e:
        _ = t.static_shape
    assert e.value.code == "E-SHAPE-OPEN"


def test_text_is_split_outside_brackets_and_quotes_only() -> None:
    assert split_top('a,f(b,c),[d,e],"g,\\",h"') == ["a", "f(b,c)", "[d,e]", '"g,\\",h"']
