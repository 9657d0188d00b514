"""A stage as an ONNX file."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from app.wire.shapes.facts import Version


class ExportOptions(TypedDict):
    """How fusions are written: each as one function of the model, or as the operators in them."""

    fused: NotRequired[bool]


class ExportRequest(TypedDict):
    """The request of such a job; `job` is the one that compiled the model."""

    kind: Literal["export"]
    job: str
    stage: int
    fused: bool


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
