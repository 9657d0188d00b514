"""Schedules as a language: the moves, their text form, and replaying a text on a computation."""
