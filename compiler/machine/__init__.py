"""Speeds of a machine, measured or estimated, and the lower bounds of kernels that they imply."""
