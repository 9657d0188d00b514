"""Operators on strings and token sequences."""
