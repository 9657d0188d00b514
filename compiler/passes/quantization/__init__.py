"""Passes that compute quantized models on their integer codes."""
