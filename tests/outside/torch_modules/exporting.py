"""Exports of a case to ONNX with the results of torch, created once and stored in a folder."""

from __future__ import annotations

import io
import logging
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.outside.torch_modules.case import Case

Feeds = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Run:
    """Inputs by name, and the outputs of torch in order, in the original types and in f64."""

    feeds: Feeds
    narrow: list[np.ndarray[Any, Any]]
    wide: list[np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Exported:
    """The model, and one run for each tested set of sizes."""

    model: bytes
    runs: list[Run]


class NotExported(Exception):
    """The exporter, or torch itself, refuses the case."""


def exported(case: Case, exporter: str, is_open: bool, folder: Path) -> Exported:
    """Return the exported case, from the folder if it is stored there. Errors: NotExported."""
    stem = folder / f"{case.family}.{case.name}.{exporter}.{'open' if is_open else 'fixed'}"
    model, arrays, refused = (stem.with_name(stem.name + s) for s in (".onnx", ".npz", ".txt"))
    if refused.exists():
        raise NotExported(refused.read_text())
    if not arrays.exists():
        try:
            made = _export(case, exporter, is_open)
        except Exception as e:  # exporters may raise any exception
            reason = f"{type(e).__name__}: {e}".strip()[:2000]
            refused.write_text(reason)
            raise NotExported(reason) from e
        model.write_bytes(made.model)
        _save(arrays, made.runs)
    return Exported(model.read_bytes(), _load(arrays))


def _export(case: Case, exporter: str, is_open: bool) -> Exported:
    module = case.module()
    runs = [_run(case, k) for k in ((0, 1) if is_open else (0,))]
    names = list(runs[0].feeds)
    export = _by_dynamo if exporter == "dynamo" else _by_torchscript
    logging.disable(logging.CRITICAL)
    quiet = io.StringIO()  # exporters print graphs and advice
    with warnings.catch_warnings(), redirect_stdout(quiet), redirect_stderr(quiet):
        warnings.simplefilter("ignore")
        return Exported(export(case, module, names, is_open), runs)


def _run(case: Case, run: int) -> Run:
    tensors = case.tensors(run)
    feeds = {f"x{k}": _array(t) for k, t in enumerate(tensors)}
    with torch.no_grad():
        narrow = _flat(case.module()(*tensors))
        try:
            wide = _flat(case.module().double()(*[_widened(t) for t in tensors]))
        except RuntimeError:  # inner constants are f32, or the function does not exist in f64
            wide = narrow
    return Run(feeds, narrow, wide)


def _widened(t: torch.Tensor) -> torch.Tensor:
    return t.double() if t.dtype is torch.float32 else t


def _array(t: torch.Tensor) -> np.ndarray[Any, Any]:
    return t.detach().numpy().copy()


def _flat(outputs: Any) -> list[np.ndarray[Any, Any]]:
    if isinstance(outputs, torch.Tensor):
        return [_array(outputs)]
    if isinstance(outputs, list | tuple):
        return [a for o in outputs for a in _flat(o)]
    return [] if outputs is None else [np.asarray(outputs)]


def _open_axes(case: Case) -> list[dict[int, str]]:
    return [{a: d for a, d in enumerate(i.shape) if isinstance(d, str)} for i in case.inputs]


def _by_torchscript(case: Case, module: torch.nn.Module, names: list[str], is_open: bool) -> bytes:
    file = io.BytesIO()
    torch.onnx.export(
        module,
        case.tensors(0),
        file,
        dynamo=False,
        opset_version=case.opset.get("torchscript", 18),
        input_names=names,
        dynamic_axes=dict(zip(names, _open_axes(case), strict=True)) if is_open else None,
        training=torch.onnx.TrainingMode.PRESERVE,
    )
    return file.getvalue()


def _by_dynamo(case: Case, module: torch.nn.Module, names: list[str], is_open: bool) -> bytes:
    shapes = None
    if is_open:
        dims = {
            d: torch.export.Dim(d, min=2)
            for i in case.inputs
            for d in i.shape
            if isinstance(d, str)
        }
        per_input = tuple({a: dims[d] for a, d in axes.items()} for axes in _open_axes(case))
        # A function receives all inputs as one tuple: `Call.forward(*args)`.
        is_variadic = type(module).__name__ == "Call"
        shapes = (per_input,) if is_variadic else per_input
    program = torch.onnx.export(
        module,
        case.tensors(0),
        dynamo=True,
        opset_version=case.opset.get("dynamo", 20),
        input_names=names,
        dynamic_shapes=shapes,
        verbose=False,
    )
    assert program is not None, "the exporter returns a program if no file is named"
    return program.model_proto.SerializeToString()


def _save(path: Path, runs: list[Run]) -> None:
    arrays: Feeds = {}
    for k, run in enumerate(runs):
        arrays |= {f"{k}.feeds.{name}": a for name, a in run.feeds.items()}
        arrays |= {f"{k}.narrow.{n}": a for n, a in enumerate(run.narrow)}
        arrays |= {f"{k}.wide.{n}": a for n, a in enumerate(run.wide)}
    np.savez(path, **arrays)


def _load(path: Path) -> list[Run]:
    runs: list[Run] = []
    with np.load(path) as arrays:
        for key in arrays.files:
            k, part, name = key.split(".", 2)
            while int(k) >= len(runs):
                runs.append(Run({}, [], []))
            if part == "feeds":
                runs[int(k)].feeds[name] = arrays[key]
            else:
                getattr(runs[int(k)], part).append(arrays[key])
    return runs
