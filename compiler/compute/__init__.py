"""Computations: what an operator or a fused group computes, point by point, and no loops yet."""
