"""Payloads of stages exported as ONNX files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx

from app.wire import VERSION
from app.wire.shapes.exports import ExportedModel


def facts(request: Mapping[str, Any], data: bytes, objection: str) -> ExportedModel:
    """Return the facts about an exported file; `objection` is the message of onnx's checker."""
    model = onnx.load_model_from_string(data)
    return {
        "version": VERSION,
        "job": request["job"],
        "stage": request["stage"],
        "fused": request["fused"],
        "file": request["file"],
        "bytes": len(data),
        "opset": next(o.version for o in model.opset_import if o.domain == ""),
        "n_nodes": len(model.graph.node),
        "n_functions": len(model.functions),
        "objection": objection,
    }
