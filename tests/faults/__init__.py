"""Faults seeded into rules and passes, to see that `check` finds and `bisect` names them."""
