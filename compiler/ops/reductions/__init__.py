"""Reductions and scans over axes."""
