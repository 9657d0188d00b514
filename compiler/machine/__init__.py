"""Speeds of a machine, measured once or estimated, and the kernel lower bounds they imply."""
