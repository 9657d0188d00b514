"""Operators that order or select elements by value."""
