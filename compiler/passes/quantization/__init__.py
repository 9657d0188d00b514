"""Passes that let more of a quantized model run on its bytes."""
