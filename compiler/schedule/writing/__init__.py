"""Nests and stages written out as Loop IR."""
