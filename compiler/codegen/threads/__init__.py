"""Parallel regions: their functions, and the threads that run them (our pool, or OpenMP)."""
