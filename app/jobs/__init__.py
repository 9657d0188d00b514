"""Work outside requests: a queue, and child processes with limits."""
