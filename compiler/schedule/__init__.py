"""Schedules: from a computation to Loop IR by moves that a policy per class chooses."""
