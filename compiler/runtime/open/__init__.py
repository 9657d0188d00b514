"""Programs for all sizes: compiled once, with sizes supplied at run time."""
