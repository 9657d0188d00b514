"""Resizing, sampling, cropping and boxes of images."""
