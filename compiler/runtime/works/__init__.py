"""Execution of a graph's nodes: their implementation, their places in memory, and launches."""
