"""Ways to place buffers: one declaration each, collected in `all.py`."""
