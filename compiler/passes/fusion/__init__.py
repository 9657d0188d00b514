"""Passes that fuse adjacent nodes into kernels."""
