"""Pipelines as data: their text, the presets, and running them."""
