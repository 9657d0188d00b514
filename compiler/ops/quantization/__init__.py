"""Quantization, and operators on quantized elements."""
