"""Operators on corresponding elements: arithmetic, comparison, conversion, activation."""
