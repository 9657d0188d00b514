"""Emission of nests and stages as Loop IR."""
