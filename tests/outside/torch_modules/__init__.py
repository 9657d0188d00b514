"""A table of torch modules and functions, exported by both exporters and judged against torch.

It needs torch and onnxscript (`pip install .[outside]`); docs/fuzzing.md explains its use.
"""
