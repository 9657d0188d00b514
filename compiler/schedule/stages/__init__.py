"""Which stages of a kernel share loops, and what one turn of such a loop computes."""
