"""Import of ONNX nodes by `onnx` facets: from a model, and once sizes or parameters are known."""
