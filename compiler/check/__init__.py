"""Is it still the model? Comparisons of graphs, rewrites and programs, and what to compare with."""
