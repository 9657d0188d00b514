"""Bisection: the rewrites that break a model, and the smallest model that shows it."""
