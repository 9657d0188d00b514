"""Parallel regions: their functions, and the threads that run them (thread pool or OpenMP)."""
