"""Passes that lower the precision of storage and products where accuracy allows."""
