"""Code motion across operators: strides move towards inputs, elementwise operators towards
results."""
