"""Planners, which assign offsets to buffers; `all.py` collects one declaration per planner."""
