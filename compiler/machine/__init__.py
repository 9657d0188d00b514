"""Measured or estimated speeds of a machine, and the resulting lower bounds on kernel times."""
