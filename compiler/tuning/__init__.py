"""Autotuning: search for schedules that, measured here, are faster than the policies' schedules."""
