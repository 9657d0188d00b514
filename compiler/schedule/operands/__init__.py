"""Operands laid out anew before a product reads them: packed, copied, turned, or cut into parts."""
