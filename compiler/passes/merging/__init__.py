"""Horizontal merging: several operations on one operand become one wider operation."""
