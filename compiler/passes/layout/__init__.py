"""Passes that assign memory layouts to values."""
