"""Passes that shrink whole graphs, and the analysis of their cost."""
