"""Evaluation of nodes and graphs by references, and import of nodes whose sizes must be known."""
