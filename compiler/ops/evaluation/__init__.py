"""Evaluation of nodes and graphs by references, and import of nodes that need sizes."""
