"""Passes that let neighbouring nodes share a kernel."""
