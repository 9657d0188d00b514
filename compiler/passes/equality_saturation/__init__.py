"""Equality saturation: an e-graph of all forms of an expression, and extraction of the cheapest."""
