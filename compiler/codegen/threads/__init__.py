"""Parallel regions: their functions, and the threads that run them (own pool or OpenMP)."""
