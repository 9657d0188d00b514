"""Code motion across operators: strides move to inputs, elementwise operators to results."""
