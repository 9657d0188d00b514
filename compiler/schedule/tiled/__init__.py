"""Convolutions with fewer products: recognised, cut into bands of tile rows, and written."""
