"""Declarative rules by family, and the passes that are sets of rules."""
