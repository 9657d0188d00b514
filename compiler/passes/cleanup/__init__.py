"""Passes on whole graphs that leave less of them, and measuring what there is."""
