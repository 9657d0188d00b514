"""Malformed models, by kind of defect; importing this package declares all of them."""

from tests.malformed import files, nodes, tensors
from tests.malformed.cases import CASES

__all__ = ["CASES", "files", "nodes", "tensors"]
