"""One policy per class of computation; register tiles and cache blocks that policies choose."""
