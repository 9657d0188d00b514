"""From a graph back to an ONNX model, the standard's own operators throughout."""

from compiler.export.model import OPSET, to_onnx

__all__ = ["OPSET", "to_onnx"]
