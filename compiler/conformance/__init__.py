"""Conformance to ONNX: compile and run the cases of `onnx.backend.test`, and count the outcomes."""
