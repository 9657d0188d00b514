"""Equality saturation: all forms of an expression at once, and the cheapest of them."""
