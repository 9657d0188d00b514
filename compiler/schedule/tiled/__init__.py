"""Winograd convolutions: recognition, division into bands of tile rows, and emission."""
