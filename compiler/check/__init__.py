"""Verification of a compilation: comparison of graphs, rewrites and program with references."""
