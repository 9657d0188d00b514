"""A stage as an ONNX file."""

from __future__ import annotations

from typing import TypedDict

from app.wire.shapes.facts import Version


class ExportedModel(TypedDict):
    """What was written; `objection` is what onnx's checker says against it, "" for nothing.

    `file` is its name. A function of the model is a fusion, where fusions are written as such.
    """

    version: Version
    job: str
    stage: int
    fused: bool
    file: str
    bytes: int
    opset: int
    n_nodes: int
    n_functions: int
    objection: str
