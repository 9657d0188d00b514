"""Pipelines as data: text form, presets, and execution."""
