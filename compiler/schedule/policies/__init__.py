"""Policies, one per class of computations, and their choice of register tiles and cache blocks."""
