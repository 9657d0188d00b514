"""Presets: our own pipelines, and pipelines modelled on other compilers.

The modules are imported on first use, since their lines refer to passes, which must be declared
before.
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
"""Modules of this package that declare a `MANNER`."""

DEFAULT = "O2"
"""The default preset."""


@cache
def manners() -> tuple[Manner, ...]:
    """Return the descriptions of other compilers' pipelines in terms of our passes."""
    return tuple(import_module(f"{__name__}.{system}").MANNER for system in SYSTEMS)


@cache
def presets() -> Mapping[str, Pipeline]:
    """Return all presets by name."""
    ours: tuple[Pipeline, ...] = import_module(f"{__name__}.ours").OURS
    named = {p.name: p for p in (*ours, *(m.pipeline for m in manners()))}
    default = named[DEFAULT]
    return {"default": Pipeline(default.lines, "default", default.words), **named}
