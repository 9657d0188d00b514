"""Passes that move work to where there is less of it: strides up, elementwise operators down."""
