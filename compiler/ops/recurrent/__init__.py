"""Recurrent layers and their steps."""
