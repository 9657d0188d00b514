"""Verification of a compilation: its graphs, rewrites and program are compared with references."""
