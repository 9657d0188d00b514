"""The import of ONNX files to graphs, with limits for untrusted files."""

from compiler.frontend.load import load
from compiler.limits import UPLOAD_LIMITS, Limits

__all__ = ["UPLOAD_LIMITS", "Limits", "load"]
