"""The pipelines that have names: our own, and those in the manner of other compilers.

Their modules are read when they are first asked for: lines are checked against passes, which must
all be declared by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from compiler.passes.pipeline.pipeline import Pipeline

if TYPE_CHECKING:
    from compiler.passes.pipeline.presets.manner import Manner

SYSTEMS = (
    *("xla", "tvm", "glow", "ngraph", "onnc"),
    *("tensorrt", "onnxruntime", "openvino", "grappler", "pytorch_jit"),
)
"""Modules of this folder that declare a `MANNER`."""

DEFAULT = "O2"
"""The preset that runs unless another is asked for."""


@cache
def manners() -> tuple[Manner, ...]:
    """What other compilers run, in the words of our passes."""
    return tuple(import_module(f"{__name__}.{system}").MANNER for system in SYSTEMS)


@cache
def presets() -> Mapping[str, Pipeline]:
    """All presets by name."""
    ours: tuple[Pipeline, ...] = import_module(f"{__name__}.ours").OURS
    named = {p.name: p for p in (*ours, *(m.pipeline for m in manners()))}
    default = named[DEFAULT]
    return {"default": Pipeline(default.lines, "default", default.words), **named}
