"""Parallel regions: their functions, and the threads that execute them (thread pool or OpenMP)."""
