"""Everything that happens after compiling: arena, constants, launches, fallbacks, profile."""
