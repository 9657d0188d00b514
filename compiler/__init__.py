"""The public API: load, compile and run models, and inspect each step.

    graph = compiler.load("model.onnx")
    program = compiler.compile(graph)
    outputs = program.run({"x": array})

Names are imported on first use, so `compiler.ir` alone imports quickly.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler.cached import compile
    from compiler.errors import CompileError
    from compiler.export import to_onnx
    from compiler.frontend import load
    from compiler.frontend.tracing import model
    from compiler.ir.graph import Graph
    from compiler.limits import Limits
    from compiler.reference import reference
    from compiler.runtime.program import Program
    from compiler.tuning.tune import tune

__version__ = "0.1.0"

_HOMES = {
    "CompileError": ("compiler.errors", "CompileError"),
    "Graph": ("compiler.ir.graph", "Graph"),
    "Limits": ("compiler.limits", "Limits"),
    "Program": ("compiler.runtime.program", "Program"),
    "compile": ("compiler.cached", "compile"),
    "load": ("compiler.frontend", "load"),
    "model": ("compiler.frontend.tracing", "model"),
    "to_onnx": ("compiler.export", "to_onnx"),
    "tune": ("compiler.tuning.tune", "tune"),
    # A callable module: its import binds the module, not the function, to this name.
    "reference": ("compiler.reference", ""),
}

__all__ = [
    "CompileError",
    "Graph",
    "Limits",
    "Program",
    "compile",
    "load",
    "model",
    "parse",
    "reference",
    "to_onnx",
    "tune",
]


def parse(text: str, source: str = "text") -> Graph:
    """Parse a graph that `str(graph)` printed; `source` names the text in errors.

    Errors: E-TEXT-*, E-GRAPH-*, and the errors of the operators' type rules.
    """
    importlib.import_module("compiler.ops")  # registers the operators that the text names
    from compiler.ir.text import parse_graph

    return parse_graph(text, source)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'compiler' has no attribute {name!r}")
    home, attribute = _HOMES[name]
    module = importlib.import_module(home)
    found = getattr(module, attribute) if attribute else module
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
