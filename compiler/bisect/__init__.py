"""Which rewrites break a model, and the smallest model that shows it."""
