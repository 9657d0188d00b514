"""Timing of programs beside other runtimes: `timing` (interleaved rounds) and `peers`."""
