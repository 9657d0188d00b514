"""Tests of blocking: reductions too long for L2 are split, rows that exceed it are blocked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.compute.builder import Handle, Lowering
from compiler.schedule.policies import blocking, short_rows
from compiler.schedule.policy import schedule
from compiler.targets.options import CodeOptions
from compiler.targets.target import Target, by_name
from tests.compiler.schedule import test_policy
from tests.compiler.schedule.test_policy import check, computation, conv

SMALL = [replace(by_name(name), l2_bytes=8 << 10) for name in ("x86-64-v4", "x86-64-v3")]


def dense(k: Lowering, a: Handle, b: Handle, c: Handle, y: Handle) -> None:
    m, n = k.axes(y.shape, "mn")
    d = k.axis(b.shape[0], "d")
    k.assign(y[m, n], k.max(k.sum(a[m, d] * b[d, n], over=(d,)) + c[m, n], 0.0))


DENSE = (["f32[11,288]", "f32[288,40]", "f32[11,40]"], "f32[11,40]", dense)
CONV = (
    ["f32[1,64,2,4]{c16,halo=1x1}", "f32[35,64,3,3]", "f32[35]"],
    "f32[1,35,2,4]{c16}",
    conv(pad=1),
)


def moves(case: tuple[list[str], str, object], target: Target) -> tuple[str, ...]:
    inputs, output, define = case
    c = computation(inputs, output, define)  # type: ignore[arg-type]
    return schedule(c, frozenset("B"), CodeOptions(target)).moves


@pytest.mark.parametrize("case", [DENSE, CONV], ids=["dense", "conv"])
def test_parts_give_the_same_result(
    case: tuple[list[str], str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for target in SMALL:
        assert any("cache_write" in m for m in moves(case, target)), target.name
    monkeypatch.setattr(test_policy, "TARGETS", SMALL)
    inputs, output, define = case
    check(computation(inputs, output, define), "B")  # type: ignore[arg-type]


def test_what_fits_or_has_too_many_sums_stays_whole() -> None:
    assert not any("cache_write" in m for m in moves(DENSE, by_name("x86-64-v4")))
    many = (["f32[301,288]", "f32[288,40]", "f32[301,40]"], "f32[301,40]", dense)
    assert not any("cache_write" in m for m in moves(many, SMALL[0]))


def product(k: Lowering, a: Handle, b: Handle, y: Handle) -> None:
    m, n = k.axes(y.shape, "mn")
    d = k.axis(b.shape[0], "d")
    k.assign(y[m, n], k.sum(a[m, d] * b[d, n], over=(d,)))


def turned(k: Lowering, a: Handle, b: Handle, y: Handle) -> None:
    m, n = k.axes(y.shape, "mn")
    d = k.axis(b.shape[0], "d")
    k.assign(y[m, n], k.max(k.sum(a[d, m] * b[d, n], over=(d,)), 0.0))


def residual(k: Lowering, a: Handle, b: Handle, y: Handle) -> None:
    m, n = k.axes(y.shape, "mn")
    d = k.axis(b.shape[0], "d")
    k.assign(y[m, n], k.sum(a[d, m] * b[d, n], over=(d,)) + a[0, m])


ROWS = (["f32[65,17]", "f32[17,50]"], "f32[65,50]", product)
TURNED = (["f32[17,256]", "f32[17,33]"], "f32[256,33]", turned)
RESIDUAL = (["f32[17,256]", "f32[17,33]"], "f32[256,33]", residual)
IMAGE = (["f32[1,17,16,16]", "f32[33,17,1,1]", "f32[33]"], "f32[1,33,16,16]{c16}", conv())
IMAGES = (["f32[2,17,16,16]", "f32[33,17,1,1]", "f32[33]"], "f32[2,33,16,16]{c16}", conv())
TINY = replace(by_name("x86-64-v3"), l2_bytes=4 << 10)


@pytest.mark.parametrize(
    ("case", "is_copied"),
    [(ROWS, False), (TURNED, True), (IMAGE, True), (IMAGES, True), (RESIDUAL, False)],
    ids=["rows", "turned", "image", "images", "residual"],
)
def test_all_columns_pass_a_block_of_rows(
    case: tuple[list[str], str, object], is_copied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocking, "LEAST_TILES", 2)
    monkeypatch.setattr(blocking, "LEAST_GAIN", -1)
    made = moves(case, TINY)
    assert any("a block of rows stays in L2" in m for m in made)
    assert any("cache_read" in m for m in made) == is_copied
    monkeypatch.setattr(test_policy, "TARGETS", [TINY])
    inputs, output, define = case
    check(computation(inputs, output, define), "B")  # type: ignore[arg-type]


def test_rows_that_stay_in_the_second_cache_are_one_block() -> None:
    for case in (ROWS, TURNED):
        assert not any("block of rows" in m for m in moves(case, by_name("x86-64-v3")))


def test_rows_are_cut_where_that_saves_much_traffic() -> None:
    for shape, is_cut in (((1500, 384, 1536), True), ((128, 896, 4864), False)):
        m, k, n = shape
        case = ([f"f32[{m},{k}]", f"f32[{k},{n}]"], f"f32[{m},{n}]", product)
        made = moves(case, replace(by_name("x86-64-v3"), l2_bytes=512 << 10))
        assert any("block of rows" in line for line in made) == is_cut


@pytest.mark.parametrize(
    ("kernel", "stride", "is_copied"), [(3, 2, True), (5, 1, False)], ids=["few taps", "many taps"]
)
def test_windows_are_copied_where_they_hardly_overlap(
    kernel: int, stride: int, is_copied: bool
) -> None:
    """The channels of the image are pages apart, so each reduction step reads another line."""

    def define(k: Lowering, a: Handle, w: Handle, y: Handle) -> None:
        o, x = k.axes(y.shape[1:], "ox")
        i, t = k.axis(w.shape[1], "i"), k.axis(kernel, "t")
        k.assign(y[0, o, x], k.sum(a[0, i, x * stride + t] * w[o, i, t], over=(i, t)))

    length = (1023 - kernel) // stride + 1
    inputs = ["f32[1,512,1023]", f"f32[512,512,{kernel}]"]
    case = (inputs, f"f32[1,512,{length}]{{c16}}", define)
    made = moves(case, replace(by_name("x86-64-v3"), l2_bytes=512 << 10))
    assert any("cache_read" in m for m in made) == is_copied


STRIDED = (["f32[1,64,14,14]{c16}", "f32[96,64,1,1]", "f32[96]"], "f32[1,96,7,7]{c16}")
PADDED = (
    ["f32[1,33,7,7]{c16,halo=1x1}", "f32[96,33,1,1]", "f32[96]"],
    "f32[1,96,7,7]{c16,halo=1x1}",
)


@pytest.mark.parametrize(
    "case", [(*STRIDED, conv(stride=2)), (*PADDED, conv())], ids=["strided", "padded"]
)
def test_tiles_span_short_rows(
    case: tuple[list[str], str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(short_rows, "COPY_CYCLES", 0)
    target = by_name("x86-64-v3")
    made = moves(case, target)
    assert any("rows of 7 pixels are too short" in m for m in made)
    assert any("tiles span rows" in m for m in made)
    monkeypatch.setattr(test_policy, "TARGETS", [target])
    inputs, output, define = case
    check(computation(inputs, output, define), "B")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("width", "filters", "spans"), [(7, 512, True), (7, 32, False), (6, 512, False)]
)
def test_rows_stay_apart_where_tiles_fill_them_or_copies_do_not_pay(
    width: int, filters: int, spans: bool
) -> None:
    inputs = [f"f32[1,64,7,{width}]{{c16,halo=1x1}}", f"f32[{filters},64,1,1]", f"f32[{filters}]"]
    case = (inputs, f"f32[1,{filters},7,{width}]{{c16,halo=1x1}}", conv())
    assert any("are too short" in m for m in moves(case, by_name("x86-64-v3"))) == spans


def test_short_runs_are_cut_sooner_than_whole_rows() -> None:
    """A row of blocked pixels consists of short contiguous ranges, a row of a matrix of pages."""
    target = replace(by_name("x86-64-v3"), l2_bytes=512 << 10)
    pixels = (["f32[1,1024,14,14]{c16}", "f32[256,1024,1,1]", "f32[256]"], "f32[1,256,14,14]{c16}")
    rows = (["f32[196,1024]", "f32[1024,256]"], "f32[196,256]", product)
    assert any("block of rows" in m for m in moves((*pixels, conv()), target))
    assert not any("block of rows" in m for m in moves(rows, target))


def test_few_columns_do_not_pay_for_a_copy() -> None:
    assert not any("cache_read" in m for m in moves(TURNED, TINY))
