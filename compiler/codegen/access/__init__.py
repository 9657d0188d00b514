"""Memory accesses of a kernel: parameters, indices, and loads and stores of vectors.

Each file imports only from those before it:

    addresses -> indices -> stored -> memory -> params -> loads -> stores -> fetches
    -> register_transpose
"""
