"""Import of ONNX nodes by `onnx` facets: at first, and again once sizes or parameters are known."""
