"""Loops shared by stages of a kernel, and one iteration of such a loop."""
