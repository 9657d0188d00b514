"""The export of graphs to ONNX models of standard operators."""

from compiler.export.model import OPSET, to_onnx

__all__ = ["OPSET", "to_onnx"]
