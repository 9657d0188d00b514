"""A table of torch modules and functions through both exporters, judged against torch itself.

It needs torch and onnxscript (`pip install .[outside]`); docs/fuzzing.md says how to use it.
"""
