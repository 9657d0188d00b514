"""Tests of packed constants, against padding, splitting and transposing in numpy."""

import numpy as np
import pytest

from compiler.schedule.operands import packing
from compiler.schedule.operands.packing import Packing

MATRIX = ((1.0, 0.0, 0.0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.25), (0.0, 0.0, 1.0))


def expected(p: Packing, array: np.ndarray) -> np.ndarray:
    """Return the packed array, computed step by step as the class describes."""
    if p.transform:
        m = np.array(p.transform)
        tiles = np.einsum("ap,oipq,bq->aboi", m, array.astype(np.float64), m)
        array = tiles.reshape(-1, *array.shape[:2]).astype(array.dtype)
    ends = [(0, n - m) for n, m in zip(p.padded, array.shape, strict=True)]
    return np.pad(array, ends).reshape(p.split).transpose(p.order)


@pytest.mark.parametrize("piece_bytes", [1, 200, packing.PIECE_BYTES])
@pytest.mark.parametrize(
    ("shape", "made"),
    [
        ((6, 5), Packing((6, 5), (2, 3, 5), (2, 0, 1))),
        ((5, 7), Packing((6, 8), (2, 3, 4, 2), (2, 0, 3, 1))),
        ((1, 5), Packing((1, 6), (1, 2, 3), (2, 1, 0))),
        ((1, 5), Packing((1, 6), (3, 2), (1, 0))),
        ((3, 1), Packing((3, 4), (1, 3, 4), (2, 1, 0))),
        ((5,), Packing((9,), (9,), (0,))),
        ((0, 3, 5), Packing((0, 3, 16), (0, 3, 1, 1, 16), (0, 1, 2, 3, 4))),
        ((5, 7, 3, 3), Packing((16, 6, 7), (16, 1, 2, 3, 7), (2, 4, 0, 3, 1), MATRIX)),
        ((5, 6, 3, 3), Packing((16, 12, 8), (4, 4, 6, 2, 8), (2, 1, 4, 3, 0), MATRIX)),
    ],
)
def test_elements_lie_in_the_order_of_the_loops(
    shape: tuple[int, ...], made: Packing, piece_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "PIECE_BYTES", piece_bytes)
    monkeypatch.setattr(packing, "PRODUCTS", 600)  # transforms take several iterations
    array = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    packed = made.apply(array)
    assert packed.shape == made.shape
    assert np.array_equal(packed, expected(made, array))


def test_one_number_is_packed_as_it_is() -> None:
    assert Packing((), (), ()).apply(np.array(2.5, np.float32)) == np.float32(2.5)
