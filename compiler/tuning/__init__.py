"""Autotuning: search by measurement for schedules that beat the policies' on this machine."""
