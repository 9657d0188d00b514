"""How each node of a graph runs, where its values lie, and what of it is launched."""
