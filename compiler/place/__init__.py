"""Placement of tasks on devices in time: platforms, tasks, schedulers, a simulator."""
