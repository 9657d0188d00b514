"""Loop IR: explicit loops, buffers, vectors and registers; what schedules make and codegen reads."""
