"""Loop IR: explicit loops, buffers, vectors, registers; what schedules make and codegen reads."""
