"""Layouts for operands of products: packed, copied to panels, transposed, split into bf16 parts."""
