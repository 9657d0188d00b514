"""Schedules: from a computation to Loop IR by moves, chosen by a policy for each class of computation."""
