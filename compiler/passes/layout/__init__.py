"""Passes that choose how values lie in memory."""
