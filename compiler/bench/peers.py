"""Peers: other runtimes for measurements and checks, in optional packages imported on use."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.frontend.written import is_written

Outputs = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Peer:
    """A model loaded by another runtime."""

    name: str
    version: str
    run: Callable[[Mapping[str, Any]], Outputs]


def names() -> tuple[str, ...]:
    """Return the names of all known peers."""
    return tuple(_LOADERS)


def package_of(name: str) -> str:
    """Return the Python package of a peer, as `pip install` takes it."""
    return _PACKAGES.get(name, name)


def installed(name: str) -> bool:
    """Return whether a peer is installed."""
    return name in _LOADERS and importlib.util.find_spec(package_of(name)) is not None


def load_peer(name: str, model: bytes | Path, threads: int = 1) -> Peer:
    """Load a model in a peer.

    Errors: E-OPTION-VALUE if the peer is unknown or not installed, or rejects the model.
    """
    if name not in _LOADERS:
        raise CompileError(
            "E-OPTION-VALUE", f"no peer is named {name!r:.40}; peers: {', '.join(_LOADERS)}"
        )
    if not installed(name):
        package = package_of(name)
        raise CompileError(
            "E-OPTION-VALUE", f"{package} is not installed", hint=f"pip install {package}"
        )
    if is_written(model):
        raise CompileError(
            "E-OPTION-VALUE",
            f"{name} cannot read a model written as text: {model}",
            hint=f"export it: compilarium compile {model} --emit onnx -o model.onnx",
        )
    with _refusing(name):
        return _LOADERS[name](model, threads)


def first_run(peer: Peer, inputs: Mapping[str, Any]) -> Outputs:
    """Run a peer and return its results. Errors: E-OPTION-VALUE if the run fails."""
    with _refusing(peer.name):
        return peer.run(inputs)


@contextmanager
def _refusing(name: str) -> Generator[None]:
    """Convert any exception of a peer to E-OPTION-VALUE, which states that the peer rejects the
    model."""
    try:
        yield
    except CompileError:
        raise
    except Exception as e:
        said = [line for line in str(e).splitlines() if line.strip()]
        reason = said[-1][:200] if said else type(e).__name__
        raise CompileError("E-OPTION-VALUE", f"{name} rejects the model: {reason}") from e


def _onnxruntime(model: bytes | Path, threads: int) -> Peer:
    import onnxruntime as ort  # pyright: ignore[reportMissingImports]

    ort.set_default_logger_severity(3)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    source = model if isinstance(model, bytes) else str(model)
    session = ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    names: Sequence[str] = [o.name for o in session.get_outputs()]

    def run(inputs: Mapping[str, Any]) -> Outputs:
        return dict(zip(names, session.run(None, dict(inputs)), strict=True))

    return Peer("onnxruntime", ort.__version__, run)


def _openvino(model: bytes | Path, threads: int, hint: str | None = "f32") -> Peer:
    """Load a model in OpenVINO at f32; OpenVINO's default is bf16 on processors with bf16."""
    import openvino as ov  # pyright: ignore[reportMissingImports]

    core = ov.Core()
    read = core.read_model(model if isinstance(model, bytes) else str(model))
    wanted = _result_names(model)
    settings: dict[str, Any] = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1}
    if hint is not None:
        settings["INFERENCE_PRECISION_HINT"] = hint
    made: dict[tuple[tuple[int, ...], ...], Any] = {}

    def run(inputs: Mapping[str, Any]) -> Outputs:
        shapes = tuple(np.shape(v) for v in inputs.values())
        if shapes not in made:
            if read.is_dynamic():
                read.reshape({k: list(s) for k, s in zip(inputs, shapes, strict=True)})
            made[shapes] = core.compile_model(read, "CPU", settings).create_infer_request()
        found = made[shapes].infer(dict(inputs), share_inputs=True, share_outputs=True)
        # An output port retains the names of nodes that were folded into its node.
        names = (n for port in found for n in wanted if n in port.get_names())
        return dict(zip(names, found.values(), strict=True))

    version: str = ov.__version__
    name = "openvino" if hint else "openvino-default"
    return Peer(name, version.split("-")[0], run)


def _result_names(model: bytes | Path) -> list[str]:
    import onnx

    read = onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(model)
    return [o.name for o in read.graph.output]


def _openvino_default(model: bytes | Path, threads: int) -> Peer:
    return _openvino(model, threads, None)


_LOADERS: dict[str, Callable[[bytes | Path, int], Peer]] = {
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
    "openvino-default": _openvino_default,
}
_PACKAGES = {"openvino-default": "openvino"}
"""Maps each peer to its Python package if their names differ."""
