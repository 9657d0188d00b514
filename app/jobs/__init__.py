"""Work that must not block a request: a queue, and child processes with limits."""
