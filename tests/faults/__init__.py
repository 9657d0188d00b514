"""Faults seeded into rules and passes, to test that `check` finds and `bisect` names them."""
