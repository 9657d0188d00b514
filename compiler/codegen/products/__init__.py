"""Products of small types: dot product instructions and matrix tiles."""
