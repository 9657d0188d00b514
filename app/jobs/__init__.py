"""Jobs that run outside of requests: a queue, and child processes with limits."""
