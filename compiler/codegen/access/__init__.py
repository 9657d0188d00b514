"""Memory accesses of a kernel: parameters, indices, and loads and stores of vectors."""
