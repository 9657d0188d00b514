"""Evaluation of nodes and graphs by references, and of foreign nodes by onnx.reference."""
