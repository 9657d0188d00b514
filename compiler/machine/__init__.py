"""How fast a machine is: measured once or estimated, and what a kernel needs at least on it."""
