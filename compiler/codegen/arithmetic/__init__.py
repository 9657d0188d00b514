"""Functions and conversions of scalars and vectors, including a vector math library."""
