"""The infrastructure of passes: patterns, rules, the rewrite engine, declarations, costs."""
