"""The export of a stage as an ONNX file."""

from __future__ import annotations

from app.wire.shapes import Payload


class ExportedModel(Payload):
    """An exported file; `objection` is the message of onnx's checker, "" if it accepts the file.

    `file` is the name of the file. `n_functions` counts the fusions exported as functions.
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
