"""Gradients, losses and optimizer steps."""
