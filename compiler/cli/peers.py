"""Other runtimes, to measure against and to check against; optional, imported when asked for."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler.errors import CompileError

Outputs = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Peer:
    """A model loaded by another runtime."""

    name: str
    version: str
    run: Callable[[Mapping[str, Any]], Outputs]


def installed(name: str) -> bool:
    """Whether a peer can be used here."""
    return name in _LOADERS and importlib.util.find_spec(name) is not None


def load_peer(name: str, model: bytes | Path, threads: int = 1) -> Peer:
    """A model in a peer. Errors: E-OPTION-VALUE for one that is unknown, missing or refuses."""
    if name not in _LOADERS:
        raise CompileError(
            "E-OPTION-VALUE", f"no peer is named {name!r:.40}; there are: {', '.join(_LOADERS)}"
        )
    if not installed(name):
        raise CompileError("E-OPTION-VALUE", f"{name} is not installed", hint=f"pip install {name}")
    try:
        return _LOADERS[name](model, threads)
    except CompileError:
        raise
    except Exception as e:  # a peer may refuse a model with any error of its own
        reason = str(e).splitlines()[0][:200] if str(e) else type(e).__name__
        raise CompileError("E-OPTION-VALUE", f"{name} refuses the model: {reason}") from e


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


_LOADERS: dict[str, Callable[[bytes | Path, int], Peer]] = {"onnxruntime": _onnxruntime}
