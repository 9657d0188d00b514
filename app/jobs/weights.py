"""The stored models of samples whose weights are drawn: a file per sample, seed and method."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

from app.samples import Sample
from compiler.frontend.random_weights import random_weights


def weights_file(folder: Path, sample: Sample) -> Path:
    """Return the path of a sample with drawn weights; the file may not exist."""
    return folder / f"{sample.id}-{_key(sample.path, sample.seed)}.onnx"


def remove_older(file: Path) -> None:
    """Remove the sample's files that were drawn from another file, seed or method."""
    sample = file.stem.rpartition("-")[0]
    names = re.compile(rf"{re.escape(sample)}-[0-9a-f]{{16}}\.onnx")
    for old in file.parent.iterdir():
        if old != file and names.fullmatch(old.name):
            old.unlink(missing_ok=True)


@cache
def _key(path: Path, seed: int | None) -> str:
    """Derive the key of drawn weights from the file, the seed and the method."""
    digest = hashlib.sha256(path.read_bytes())
    digest.update(f"{seed}".encode())
    digest.update(Path(random_weights.__code__.co_filename).read_bytes())
    return digest.hexdigest()[:16]
