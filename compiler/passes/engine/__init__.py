"""What passes are made of: patterns, rules, the engine that applies them, declarations, costs."""
