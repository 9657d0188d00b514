"""Numbers: every function and conversion of scalars, with vector math, on all lanes at once."""
