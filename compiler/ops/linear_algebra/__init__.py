"""Matrix products and determinants."""
