"""Products of small types: dot steps, and runs of them on matrix tiles."""
