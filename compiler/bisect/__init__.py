"""Bisection: search for the rewrites that break a model, and reduction of the failing model."""
