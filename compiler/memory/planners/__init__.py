"""Planners, which place buffers: one declaration each, collected in `all.py`."""
