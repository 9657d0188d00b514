"""Regions that threads share: their functions, and who runs them (a crew of ours, or OpenMP)."""
