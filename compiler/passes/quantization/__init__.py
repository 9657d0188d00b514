"""Passes that replace float arithmetic of quantized models with arithmetic on integer codes."""
