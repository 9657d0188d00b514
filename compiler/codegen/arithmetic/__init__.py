"""Arithmetic: functions and conversions of scalars and vectors, with a vector math library."""
