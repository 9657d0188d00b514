"""Real models with flipped bits and truncated ends, and all files with a known exact error."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np

from tests.malformed.cases import CASES
from tests.malformed.hostile import Maker, family

SAMPLES = Path(__file__).parents[2] / "samples"
N_MUTATIONS = 40


@family
def malformed() -> Iterator[tuple[str, Maker]]:
    """Yield the files of tests/contracts/test_malformed_models.py."""
    yield from ((p.values[0].__name__, p.values[0]) for p in CASES)


@family
def mutations() -> Iterator[tuple[str, Maker]]:
    """Yield built-in models with flipped bits, changed structural bytes, and truncated ends."""
    for path in sorted(SAMPLES.glob("*.onnx")):
        for seed in range(N_MUTATIONS):
            yield f"{path.stem}_bits_{seed}", partial(flipped, path, seed)
        for seed in range(10):
            yield f"{path.stem}_cut_{seed}", partial(cut, path, seed)


@cache
def content(path: Path) -> bytes:
    return path.read_bytes()


def flipped(path: Path, seed: int) -> bytes:
    chance = np.random.default_rng(seed)
    data = bytearray(content(path))
    # Most bytes are weights, so half of the changes are in the first kilobytes, which have the
    # nodes.
    reach = len(data) if seed % 2 else min(len(data), 4096)
    for place in chance.integers(0, reach, 1 + seed % 5):
        data[place] ^= 1 << int(chance.integers(0, 8))
    return bytes(data)


def cut(path: Path, seed: int) -> bytes:
    data = content(path)
    return data[: int(np.random.default_rng(seed).integers(1, len(data)))]
