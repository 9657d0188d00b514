"""Facts about target machines: vector width, registers, caches, features."""
