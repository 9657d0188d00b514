"""Verification of compilations: comparison of graphs, rewrites and programs with references."""
