"""Which stages of a kernel share loops, and what one iteration of such a loop computes."""
