"""Loops that stages of a kernel share, and the stages in one iteration of a shared loop."""
