"""Graph passes about where elements lie: sizes, parts of tensors, transposes, repeated elements."""
