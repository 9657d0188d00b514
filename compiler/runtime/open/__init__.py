"""Programs for all sizes: code is made once, and a run brings the numbers."""
