"""From an ONNX file to a graph, under limits that hold for files from strangers."""

from compiler.frontend.limits import UPLOAD_LIMITS, Limits
from compiler.frontend.load import load

__all__ = ["UPLOAD_LIMITS", "Limits", "load"]
