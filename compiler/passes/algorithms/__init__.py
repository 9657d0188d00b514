"""Convolution algorithms: fewer multiplications where faster, within an error budget."""
