"""Passes that replace float arithmetic of quantized models with integer arithmetic."""
