"""Measured or estimated speeds of a machine, and the lower bounds that they set for kernel times.
"""
