"""From an ONNX file to a graph, under limits that hold for files from strangers."""

from compiler.frontend.load import load
from compiler.limits import UPLOAD_LIMITS, Limits

__all__ = ["UPLOAD_LIMITS", "Limits", "load"]
