"""Conformance to ONNX: the suites of `onnx.backend.test` compiled, run, judged and counted."""
