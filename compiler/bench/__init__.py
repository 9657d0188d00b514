"""Timing of programs and other runtimes: `timing` (interleaved rounds) and `peers`."""
