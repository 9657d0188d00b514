"""Frames of moving pictures: what loops access, where a planner puts buffers, what passes rewrite.

    limits -> walk, placing, rewriting

Each part computes its frames from the results of the compiler, as JSON. A picture that would need
too many frames is left out, and its data has the reason in `omitted`.
"""
