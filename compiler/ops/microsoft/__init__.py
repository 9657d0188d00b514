"""Operators of the ONNX domain com.microsoft."""
