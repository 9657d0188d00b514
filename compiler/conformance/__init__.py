"""How much of ONNX works: the suites of `onnx.backend.test` compiled, run, judged and counted."""
