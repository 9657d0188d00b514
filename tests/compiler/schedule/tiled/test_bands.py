"""Tests of the number of tile rows in a band of a tiled convolution."""

from __future__ import annotations

import pytest

from compiler.schedule.tiled.bands import band_rows


@pytest.mark.parametrize(
    ("size", "channels", "l2", "rows"),
    [
        ((28, 28), (64, 64), 1 << 20, 1),  # weights stay in cache: just fill a register tile
        ((7, 7), (256, 256), 1 << 20, 7),  # weights exceed the cache: read them once
        ((4, 4), (512, 512), 1 << 20, 4),
        ((112, 112), (256, 256), 1 << 18, 1),  # a single row exceeds the cache
        ((1, 1), (16, 16), 1 << 20, 1),
    ],
)
def test_bands_keep_near_what_is_read_again(
    size: tuple[int, int], channels: tuple[int, int], l2: int, rows: int
) -> None:
    assert band_rows(*size, channels, 4, l2) == rows
