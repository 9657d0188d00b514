"""Horizontal merging: several products of one operand become one wider product."""
