"""Thunks, the units of execution of a graph: code of nodes, memory of values, and launches."""
