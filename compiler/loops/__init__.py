"""Loop IR: explicit loops, buffers, vectors and registers, between schedules and codegen."""
