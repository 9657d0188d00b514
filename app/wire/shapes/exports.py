"""A stage as an ONNX file."""

from __future__ import annotations

from app.wire.shapes import Payload


class ExportedModel(Payload):
    """What was written; `objection` is what onnx's checker says against it, "" for nothing.

    `file` is its name. A function of the model is a fusion, where fusions are written as such.
    """

    job: str
    stage: int
    fused: bool
    file: str
    bytes: int
    opset: int
    n_nodes: int
    n_functions: int
    objection: str
