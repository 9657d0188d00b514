"""Normalization of layers, groups, batches and vectors."""
