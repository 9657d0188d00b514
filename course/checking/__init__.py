"""Checks of lessons for their authors: `compilarium lesson check`."""
