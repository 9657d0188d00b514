"""Code motion between operators: strides move up, elementwise operators down."""
