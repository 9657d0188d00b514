"""The text form of lessons: front matter, prose, blocks and references to results."""
