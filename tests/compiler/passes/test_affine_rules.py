"""Tests of folding scales and shifts into products: on both sides, tables, padding, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compiler.ir.constant import Constant
from compiler.ir.graph import Graph
from compiler.passes import PASSES
from compiler.passes.engine.rule import ROUNDINGS
from compiler.trace import Log
from tests.compiler.passes.numbers import (
    applied,
    assert_same_results,
    declined,
    graph,
    random_inputs,
    special_inputs,
)


def fold(g: Graph) -> tuple[Graph, Log]:
    log = Log()
    return PASSES["fold_affine"].run(g, log), log


def randomised(g: Graph, seed: int = 0) -> Graph:
    """Replace floating-point constants of more than one element by random numbers."""
    rng = np.random.default_rng(seed)
    constants = {
        k: Constant.of(rng.normal(size=c.type.static_shape), c.type.dtype)
        if c.type.dtype.is_float and c.type.n_elements > 1
        else c
        for k, c in g.constants.items()
    }
    return replace(g, constants=constants)


# x, flags, w, result, scale; w is the right operand
PRODUCTS = {
    "a vector on the left": ("f32[3]", "", "f32[3,4]", "f32[4]", "f32[4]"),
    "a vector of weights": ("f32[2,3]", "", "f32[3]", "f32[2]", "f32[]"),
    "two vectors": ("f32[3]", "", "f32[3]", "f32[]", "f32[]"),
    "a batch of weights": ("f32[5,2,3]", "", "f32[5,3,4]", "f32[5,2,4]", "f32[5,1,4]"),
    "a batch of weights, one scale each": (
        "f32[5,2,3]",
        "",
        "f32[5,3,4]",
        "f32[5,2,4]",
        "f32[5,1,1]",
    ),
    "a batch turned round": (
        "f32[5,3,2]",
        ", transpose_a=true, transpose_b=true",
        "f32[5,4,3]",
        "f32[5,2,4]",
        "f32[1,4]",
    ),
    "the same weights for a batch": ("f32[6,5,2,3]", "", "f32[5,3,4]", "f32[6,5,2,4]", "f32[4]"),
}


@pytest.mark.parametrize(("x", "flags", "w", "out", "c"), PRODUCTS.values(), ids=list(PRODUCTS))
def test_a_scale_goes_into_weights_of_any_rank(
    x: str, flags: str, w: str, out: str, c: str
) -> None:
    g = randomised(
        graph(
            f"""
            graph g(x: {x}) {{
              const w: {w} = splat(0.5)
              const c: {c} = splat(1.75)
              y: {out} = matmul(x, w{flags})
              z: {out} = mul(y, c)
              return z
            }}
            """
        )
    )
    after, log = fold(g)
    assert applied(log.steps) == ["scale_into_matmul"]
    assert [n.op for n in after.nodes] == ["matmul"]
    assert_same_results(g, after, random_inputs(g), error=ROUNDINGS)
    assert_same_results(g, after, special_inputs(g), error=ROUNDINGS)


LEFT = {
    "a vector on the right": ("f32[3]", "", "f32[4,3]", "f32[4]", "f32[4]"),
    "a batch": ("f32[5,3,2]", "", "f32[5,4,3]", "f32[5,4,2]", "f32[5,4,1]"),
    "a batch turned round": (
        "f32[5,2,3]",
        ", transpose_a=true, transpose_b=true",
        "f32[5,3,4]",
        "f32[5,4,2]",
        "f32[4,1]",
    ),
}


@pytest.mark.parametrize(("x", "flags", "w", "out", "c"), LEFT.values(), ids=list(LEFT))
def test_a_scale_goes_into_weights_on_the_left(
    x: str, flags: str, w: str, out: str, c: str
) -> None:
    g = randomised(
        graph(
            f"""
            graph g(x: {x}) {{
              const w: {w} = splat(0.5)
              const c: {c} = splat(1.75)
              y: {out} = matmul(w, x{flags})
              z: {out} = mul(y, c)
              return z
            }}
            """
        )
    )
    after, log = fold(g)
    assert applied(log.steps) == ["scale_into_left_matmul"]
    assert_same_results(g, after, random_inputs(g), error=ROUNDINGS)


BEYOND = {
    "rows": (
        "f32[5,2,3]",
        "f32[5,3,4]",
        "f32[5,2,4]",
        "f32[2,1]",
        "axis of the product's other operand",
    ),
    "a batch of x alone": ("f32[5,2,3]", "f32[3,4]", "f32[5,2,4]", "f32[5,1,1]", "varies along a"),
    "a batch of one": (
        "f32[5,2,3]",
        "f32[1,3,4]",
        "f32[5,2,4]",
        "f32[5,1,4]",
        "not broadcast to w",
    ),
    "columns that are one": ("f32[2,3]", "f32[3,1]", "f32[2,4]", "f32[4]", "not broadcast to w"),
    "another axis": ("f32[2,3]", "f32[3,4]", "f32[5,2,4]", "f32[5,1,4]", "varies along a batch"),
}


@pytest.mark.parametrize(("x", "w", "out", "c", "says"), BEYOND.values(), ids=list(BEYOND))
def test_a_scale_that_is_not_one_of_the_weights_is_declined(
    x: str, w: str, out: str, c: str, says: str
) -> None:
    columns = w[:-1].split(",")[-1]
    product = f"{x[: x.rindex(',')]},{columns}]"
    g = randomised(
        graph(
            f"""
            graph g(x: {x}) {{
              const w: {w} = splat(0.5)
              const c: {c} = splat(1.75)
              y: {product} = matmul(x, w)
              z: {out} = mul(y, c)
              return z
            }}
            """
        )
    )
    after, log = fold(g)
    assert after is g
    assert says in declined(log.steps, "scale_into_matmul")[0]


@pytest.mark.parametrize(
    ("op", "operands", "w"),
    [("mul", "y, w", "3,2"), ("add", "y, w", "3,2"), ("mul", "w, y", "2,3")],
)
def test_a_number_scaled_to_a_matrix_has_no_channels(op: str, operands: str, w: str) -> None:
    g = randomised(
        graph(
            f"""
            graph g(x: f32[]) {{
              const c: f32[3,3] = splat(0.5)
              const w: f32[{w}] = splat(1.75)
              y: f32[3,3] = {op}(x, c)
              z: f32[{w}] = matmul({operands})
              return z
            }}
            """
        )
    )
    after, log = fold(g)
    assert after is g
    assert any("smaller than the scaled tensor" in s.because for s in log.steps)


@pytest.mark.parametrize(
    ("w", "c", "dtype", "says"),
    [
        ("1000.0,2.0", "100.0,1.0", "f16", "overflow f16"),
        ("0.001,0.0001", "0.001,0.01", "f16", "would lose digits in f16"),
        ("1.0,2.0", "inf,1.0", "f32", "infinities or NaN"),
        ("1.0,2.0", "nan,1.0", "f32", "infinities or NaN"),
        ("nan,2.0", "3.0,1.0", "f32", "infinities or NaN"),
        ("1e-30,1e-31", "1e-12,1e-11", "f32", "would lose digits in f32"),
    ],
)
def test_numbers_that_would_be_lost_are_left_alone(w: str, c: str, dtype: str, says: str) -> None:
    g = graph(
        f"""
        graph g(x: {dtype}[3,1]) {{
          const w: {dtype}[1,2] = literal({w})
          const c: {dtype}[2] = literal({c})
          y: {dtype}[3,2] = matmul(x, w)
          z: {dtype}[3,2] = mul(y, c)
          return z
        }}
        """
    )
    after, log = fold(g)
    assert after is g
    assert says in declined(log.steps, "scale_into_matmul")[0]


def test_zero_weights_stay_zero() -> None:
    g = graph(
        """
        graph g(x: f32[3,1]) {
          const w: f32[1,2] = literal(0.0,0.0)
          const c: f32[2] = literal(2.0,3.0)
          y: f32[3,2] = matmul(x, w)
          z: f32[3,2] = mul(y, c)
          return z
        }
        """
    )
    assert [n.op for n in fold(g)[0].nodes] == ["matmul"]


@pytest.mark.parametrize("flag", ["", ", transpose_b=true"])
@pytest.mark.parametrize(("rows", "columns"), [(3, 2), (2, 3)])
def test_a_shift_goes_behind_a_product_where_that_is_less(
    flag: str, rows: int, columns: int
) -> None:
    shape = f"{columns},{rows}" if flag else f"{rows},{columns}"
    g = randomised(
        graph(
            f"""
            graph g(x: f32[4,5,{rows}]) {{
              const w: f32[{shape}] = splat(0.5)
              const c: f32[{rows}] = splat(1.75)
              y: f32[4,5,{rows}] = add(x, c)
              z: f32[4,5,{columns}] = matmul(y, w{flag})
              return z
            }}
            """
        )
    )
    after, log = fold(g)
    if columns < rows:
        assert applied(log.steps) == ["shift_behind_matmul"]
    else:
        assert after is g
        assert declined(log.steps, "shift_behind_matmul") == [
            f"the product has {columns} columns and its operand {rows}, so nothing is saved"
        ]
    assert_same_results(g, after, random_inputs(g), error=ROUNDINGS)


@pytest.mark.parametrize(
    ("op", "c", "axis", "indices", "out", "fits"),
    [
        ("mul", "f32[3]", 0, "i64[2,4]", "f32[2,4,3]", True),
        ("add", "f32[]", 1, "i64[2,4]", "f32[11,2,4]", True),
        ("add", "f32[11,1,1]", 1, "i64[2,4]", "f32[11,2,4]", True),
        ("mul", "f32[11,1]", -1, "i64[4]", "f32[11,4]", True),
        ("mul", "f32[11]", 1, "i64[]", "f32[11]", True),
        ("mul", "f32[4,1]", 0, "i64[2,4]", "f32[2,4,3]", False),
        ("add", "f32[5,1,4,3]", 0, "i64[2,4]", "f32[5,2,4,3]", False),
    ],
)
def test_arithmetic_on_rows_becomes_part_of_their_table(
    op: str, c: str, axis: int, indices: str, out: str, fits: bool
) -> None:
    g = randomised(
        graph(
            f"""
            graph g(rows: {indices}) {{
              const table: f32[11,3] = splat(0.5)
              const three: i64[] = literal(3)
              const c: {c} = splat(1.5)
              at: {indices} = mod(rows, three)
              picked: f32[...] = gather(table, at, axis={axis})
              z: {out} = {op}(picked, c)
              return z
            }}
            """
        )
    )
    after, _ = fold(g)
    assert (after.nodes[-1].op == "gather") == fits
    assert_same_results(g, after, random_inputs(g), error=0)


def test_large_tables_are_left_alone() -> None:
    g = graph(
        """
        graph g(rows: i64[4]) {
          const table: f32[40000,32] = splat(0.5)
          const c: f32[32] = splat(2.0)
          y: f32[4,32] = gather(table, rows, axis=0)
          z: f32[4,32] = mul(y, c)
          return z
        }
        """
    )
    after, log = fold(g)
    assert after is g
    assert "5,120,000 bytes" in declined(log.steps, "scale_of_table")[0]


POOLS = {
    "max": "max_pool(p, kernel=[3,2], strides=[2,1], pads=[{pads}], dilations=[1,1]{more})",
    "average": "average_pool(p, kernel=[3,2], strides=[2,1], pads=[{pads}], dilations=[1,1]{more})",
    "conv": "conv(p, w, strides=[2,1], pads=[{pads}], dilations=[1,2])",
}


@pytest.mark.parametrize("own", ["0,0,0,0", "1,0,0,1"])
@pytest.mark.parametrize("ceil", ["", ", ceil_mode=true"])
@pytest.mark.parametrize("kind", list(POOLS))
def test_padding_becomes_the_windows_own_to_the_bit(kind: str, ceil: str, own: str) -> None:
    around = "-inf" if kind == "max" else "0.0"
    call = POOLS[kind].format(pads=own, more=ceil)
    g = randomised(
        graph(
            f"""
            graph g(x: f32[2,3,6,5]) {{
              const amounts: i64[4] = literal(1,0,2,1)
              const images: i64[2] = literal(2,-1)
              const around: f32[] = literal({around})
              const w: f32[4,3,2,2] = splat(0.5)
              p: f32[2,3,9,6] = pad(x, amounts, around, images)
              y: f32[...] = {call}
              return y
            }}
            """
        )
    )
    after, log = fold(g)
    if kind == "average" and own != "0,0,0,0":
        assert after is g
        assert "are excluded from the mean" in declined(log.steps, "pad_into_average_pool")[0]
    elif kind != "conv" and ceil:
        pass  # a last window may start in the padding of one operand only
    else:
        assert applied(log.steps) == [f"pad_into_{kind}{'_pool' * (kind != 'conv')}"]
    for seed in range(3):
        assert_same_results(g, after, random_inputs(g, seed), error=0)
        assert_same_results(g, after, special_inputs(g, seed), error=0)


@pytest.mark.parametrize(
    ("amounts", "mode", "says"),
    [
        ("0,0,-1,0,0,0,0,1", "constant", "axis 2 is cropped"),
        ("0,1,0,0,0,0,0,0", "constant", "the padded axis 1 is not"),
        ("0,0,1,0,0,0,0,1", "reflect", ""),
    ],
)
def test_padding_that_is_none_of_a_convolutions_is_left_alone(
    amounts: str, mode: str, says: str
) -> None:
    g = randomised(
        graph(
            f"""
            graph g(x: f32[2,3,6,5]) {{
              const amounts: i64[8] = literal({amounts})
              const w: f32[4,{4 if "axis 1" in says else 3},2,2] = splat(0.5)
              p: f32[...] = pad(x, amounts, mode="{mode}")
              y: f32[...] = conv(p, w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
              return y
            }}
            """
        )
    )
    after, log = fold(g)
    assert after is g
    assert [says in r for r in declined(log.steps, "pad_into_conv")] == [True] * bool(says)
