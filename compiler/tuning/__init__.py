"""Autotuning: measured search for schedules that are faster on this machine than the policies'."""
