"""Numbers of fewer bits where a model can do with them: what is stored, and what is multiplied."""
