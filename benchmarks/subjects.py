"""The models of the benchmarks, with fixed sizes and inputs."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from benchmarks.made import encoder, recurrent
from compiler.frontend.random_weights import random_weights

SIZES = {"height": 320, "width": 320, "image_width": 96, "src_len": 7, "time": 5}
"""Values of open sizes, by their names in models."""

OTHERS = (1, 3, 64, 96)
"""Values of open sizes with other names, by axis."""

SEED = 1

MADE: Mapping[str, Callable[[], bytes]] = {
    "encoder": lambda: encoder(n_layers=2),
    "recurrent": recurrent,
}
"""Generated models by name."""


@dataclass(frozen=True)
class Subject:
    """A model with fixed sizes, and inputs for the model."""

    name: str
    model: onnx.ModelProto
    inputs: Mapping[str, Any]


def catalogue(folders: Sequence[Path]) -> dict[str, Callable[[], Subject]]:
    """Return, by name, functions that read or generate a model.

    The models are the light models with random weights, the PP-OCR models, generated models, and
    those in the folders.
    """
    light = _package("onnx") / "backend" / "test" / "data" / "light"
    makers: dict[Path, Callable[[Path], bytes]] = {}
    for path in sorted(light.glob("light_*.onnx")):
        makers[path] = lambda path: random_weights(path, SEED)
    for folder in (_package("rapidocr_onnxruntime") / "models", *folders):
        makers.update((path, Path.read_bytes) for path in sorted(folder.glob("*.onnx")))
    found = {p.stem: lambda p=p, m=m: subject(p, m(p)) for p, m in makers.items()}
    found.update((n, lambda n=n, m=m: subject(Path(n), m())) for n, m in MADE.items())
    return found


def subjects(folders: Sequence[Path]) -> Iterator[Subject]:
    """Yield all models, each read when requested."""
    for read in catalogue(folders).values():
        yield read()


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    assert spec is not None, f"{name} is not installed"
    assert spec.origin is not None, f"{name} has no folder"
    return Path(spec.origin).parent


def subject(path: Path, data: bytes) -> Subject:
    model = onnx.load_from_string(data)
    given: Mapping[str, Any] = {}
    if path.with_suffix(".npz").exists():
        given = dict(np.load(path.with_suffix(".npz"), allow_pickle=True))
    stored = {t.name for t in model.graph.initializer}
    inputs: dict[str, Any] = {}
    chance = np.random.default_rng(SEED)
    for v in model.graph.input:
        if v.name in stored:
            continue
        tensor = v.type.tensor_type
        shape = given[v.name].shape if v.name in given else _shape(tensor)
        for dim, size in zip(tensor.shape.dim, shape, strict=True):
            dim.dim_value = size
        inputs[v.name] = given[v.name] if v.name in given else _values(chance, tensor, shape)
    return Subject(path.stem, model, inputs)


def _shape(tensor: Any) -> tuple[int, ...]:
    return tuple(
        d.dim_value if d.dim_value > 0 else SIZES.get(d.dim_param, OTHERS[min(axis, 3)])
        for axis, d in enumerate(tensor.shape.dim)
    )


def _values(chance: np.random.Generator, tensor: Any, shape: tuple[int, ...]) -> Any:
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    if dtype.kind == "f":
        return chance.normal(size=shape).astype(dtype)
    if dtype.kind == "b":
        return np.ones(shape, dtype)
    return chance.integers(1, 5, shape).astype(dtype)
