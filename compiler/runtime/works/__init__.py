"""Execution of a graph's nodes: implementations ("works"), memory of values, and launches."""
