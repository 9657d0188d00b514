"""Equality saturation: all forms of an expression at once, and extraction of the cheapest."""
