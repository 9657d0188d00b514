"""Operators that move or select elements by position."""
