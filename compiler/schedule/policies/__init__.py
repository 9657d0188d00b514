"""A policy per class of computation, and what they ask: tiles for registers, blocks for caches."""
