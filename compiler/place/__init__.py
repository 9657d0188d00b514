"""Placement of tasks on devices: platforms, tasks, schedulers, and a simulator."""
