"""Passes for If, Loop, Scan and recurrent layers, and the rebuilding of graphs."""
