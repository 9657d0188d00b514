"""Horizontal merging: several operations that read one value become one wider operation."""
