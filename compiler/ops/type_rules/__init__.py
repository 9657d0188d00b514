"""Checks and size inference of type rules, shared by all families."""
