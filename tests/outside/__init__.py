"""Random ONNX models, judged against ONNX Runtime and onnx.reference: see docs/fuzzing.md."""
