"""Computations: the value of each element of an operator or fused group, without loops."""
