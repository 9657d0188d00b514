"""Memory as a kernel sees it: its parameters, indices, and every way to load and store lanes."""
