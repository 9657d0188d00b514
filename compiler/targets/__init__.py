"""Facts about the machines that code is made for: vector width, registers, caches, features."""
