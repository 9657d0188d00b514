"""Operands of products in other layouts: packed, copied to panels, transposed, split in parts."""
