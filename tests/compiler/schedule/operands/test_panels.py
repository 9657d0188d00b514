"""Tests of copying right operands into panels: conditions for a copy, and equal products."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compiler.compute.builder import Handle, Lowering
from compiler.compute.computation import Computation
from compiler.ir.types import DType, tensor
from compiler.schedule.operands.panels import into_panels
from compiler.targets.target import TARGETS, Target, by_name
from tests.compiler.schedule.test_policy import check, computation


def product(turned: bool = False) -> Callable[..., None]:
    def define(k: Lowering, a: Handle, b: Handle, y: Handle) -> None:
        *batch, rows, columns = k.axes(y.shape, "bmn" if len(y.shape) == 3 else "mn")
        d = k.axis(a.shape[-1], "k")
        right = b[(*batch, columns, d)] if turned else b[(*batch, d, columns)]
        k.assign(y[(*batch, rows, columns)], k.sum(a[(*batch, rows, d)] * right, over=(d,)))

    return define


def panels_of(c: Computation, constants: str = "", target: Target | None = None) -> list[str]:
    made = into_panels(c, frozenset(constants), target or by_name("x86-64-v4"))
    return [f"{t}: {made.tensors[t]}" for t in made.temporaries]


@pytest.mark.parametrize(
    ("a", "b", "y"),
    [
        ("f32[9,21]", "f32[96,21]", "f32[9,96]"),
        ("f32[2,11,20]", "f32[2,128,20]", "f32[2,11,128]"),
        ("f32[1,11,20]", "f32[1,128,20]", "f32[1,11,128]"),
    ],
)
def test_products_with_a_transposed_operand(a: str, b: str, y: str) -> None:
    c = computation([a, b], y, product(turned=True))
    assert panels_of(c), "the operand should be copied"
    check(c)


def test_rows_in_one_set_of_the_cache_are_copied() -> None:
    c = computation(["f32[67,80]", "f32[80,1024]"], "f32[67,1024]", product())
    (panels,) = panels_of(c)
    _, _, shape = panels.partition(": ")
    t = tensor(shape)
    assert t.dtype is DType.f32
    outer, depth, width = t.static_shape
    assert (outer * width, depth) == (1024, 80)


def test_rows_in_a_few_sets_of_the_cache_are_copied() -> None:
    def of(depth: int, columns: int) -> list[str]:
        inputs = [f"f32[67,{depth}]", f"f32[{depth},{columns}]"]
        c = computation(inputs, f"f32[67,{columns}]", product())
        return panels_of(c, target=by_name("x86-64-v3"))

    assert of(130, 64), "130 lines in 16 sets"
    assert not of(60, 64)
    assert not of(130, 80), "lines 320 bytes apart map to all sets"


def test_copies_of_inputs_come_first() -> None:
    def define(k: Lowering, a: Handle, b: Handle, c: Handle, y: Handle) -> None:
        m, n = k.axes(y.shape, "mn")
        left = k.temporary(a.shape, DType.f32, "left")
        i, j, d = k.axis(67, "i"), k.axis(130, "j"), k.axis(130, "d")
        k.assign(left[i, j], a[i, j] + c[i, j])
        k.assign(y[m, n], k.sum(left[m, d] * b[d, n], over=(d,)))

    inputs = ["f32[67,130]", "f32[130,64]", "f32[67,130]"]
    c = computation(inputs, "f32[67,64]", define)
    made = into_panels(c, frozenset(), by_name("x86-64-v3"))
    assert [s.stored_tensors for s in made.stages] == [{"B_PANELS"}, {"left"}, {"Y"}]


def test_few_rows_a_constant_or_a_small_operand_get_no_copy() -> None:
    def of(a: str, b: str, y: str, constants: str = "") -> list[str]:
        return panels_of(computation([a, b], y, product()), constants)

    assert not of("f32[33,80]", "f32[80,1024]", "f32[33,1024]")
    assert not of("f32[67,80]", "f32[80,1024]", "f32[67,1024]", "B")
    assert not of("f32[67,80]", "f32[80,224]", "f32[67,224]")
    assert not of("f32[67,800]", "f32[800,1001]", "f32[67,1001]"), "columns end inside a vector"


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda t: t.name)
def test_panels_are_whole_vectors(target: Target) -> None:
    c = computation(["f32[70,640]", "f32[640,3072]"], "f32[70,3072]", product())
    for panels in panels_of(c, target=target):
        *_, width = tensor(panels.partition(": ")[2]).static_shape
        assert width % target.lanes(4) == 0
        assert 3072 % width == 0
