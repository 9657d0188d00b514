"""Autotuning: search, by measurement, for schedules faster than those of the policies."""
