"""Loops divided among threads, and temporaries private to a thread."""
