"""Operators of one element per operand: arithmetic, comparison, conversion, activation."""
