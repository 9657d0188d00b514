"""Searches of schedules in student code: a product, its space, and the searches of the compiler."""

from __future__ import annotations

from compiler.tuning.search import GeneticSearch, RandomSearch, Search
from compiler.tuning.space import Point, Space
from course.modelled_products import Product, wrong_pairs

__all__ = ["GeneticSearch", "Point", "Product", "RandomSearch", "Search", "Space", "wrong_pairs"]
