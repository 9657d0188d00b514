"""Passes that lower the precision of storage and products within an error budget."""
