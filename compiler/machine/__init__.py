"""Speeds of a machine, measured or estimated, and the lower bounds of kernel times they imply."""
