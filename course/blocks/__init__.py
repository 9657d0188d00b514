"""Kinds of blocks, one declaration each; `all.py` collects them, and `run.py` runs a lesson."""
