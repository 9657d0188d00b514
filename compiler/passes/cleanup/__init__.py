"""Passes that remove or fold nodes and constants, and the analysis of a graph's cost."""
