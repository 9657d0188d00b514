"""Autotuning: schedules that are faster than the policies' on this machine, found by measuring."""
