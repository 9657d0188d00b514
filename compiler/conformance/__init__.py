"""Conformance to ONNX: compile, run, judge and count the suites of `onnx.backend.test`."""
