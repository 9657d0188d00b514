"""Passes for shape computations, slices, transposes and broadcasts."""
