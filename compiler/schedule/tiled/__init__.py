"""Winograd convolutions: recognised, divided into bands of tile rows, and emitted."""
